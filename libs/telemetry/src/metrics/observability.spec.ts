import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { METRICS } from './catalog.js';
import type { MetricDefinition } from './metric-definition.js';

const ROOT = resolve(import.meta.dirname, '../../../..');
const DASHBOARD = 'docker/observability/grafana/gapless.json';
const ALERTS = 'docker/observability/prometheus/alerts.yml';
const RUNBOOK = 'docs/operate.md';

/** A metric's name in a query, and the labels in its selector. */
const USE = /\b(gapless_[a-z_]+)(?:\{([^}]*)\})?/g;
const catalog: Readonly<Record<string, MetricDefinition>> = METRICS;

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

let dashboard: { readonly panels: readonly Panel[] };
let alerts: string;
let runbook: string;

beforeAll(async () => {
  const [json, yaml, markdown] = await Promise.all(
    [DASHBOARD, ALERTS, RUNBOOK].map((path) => readFile(resolve(ROOT, path), 'utf8')),
  );
  dashboard = JSON.parse(json!) as typeof dashboard;
  alerts = yaml!;
  runbook = markdown!;
});

function queriesOf(panels: readonly Panel[]): readonly string[] {
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

/** Everything in the text that names a metric or a label which is not there. */
function unknownIn(text: string): readonly string[] {
  return [...text.matchAll(USE)].flatMap(([, name = '', selector = '']) => {
    const definition = catalog[name] ?? histogramOf(name);
    if (definition === undefined) return [name];
    const labels = [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label);
    // What Prometheus itself adds.
    const known = [...definition.labels, 'job', 'instance', 'le'];
    return labels.filter((label) => !known.includes(label)).map((label) => `${name}{${label}}`);
  });
}

function histogramOf(name: string): MetricDefinition | undefined {
  const base = catalog[name.replace(/_(bucket|sum|count)$/, '')];
  return base?.kind === 'histogram' ? base : undefined;
}

describe('the dashboard', () => {
  it('asks only for metrics and labels that there are', () => {
    expect(queriesOf(dashboard.panels).length).toBeGreaterThan(30);
    expect(queriesOf(dashboard.panels).flatMap(unknownIn)).toEqual([]);
    expect(unknownIn('gapless_nonsense + gapless_ready{org="1"} + gapless_ready_bucket')).toHaveLength(3);
  });

  it('shows every metric', () => {
    const shown = queriesOf(dashboard.panels).join('\n');
    expect(Object.keys(METRICS).filter((name) => !shown.includes(name))).toEqual([]);
  });

  it('asks each histogram by its buckets, its sum or its count', () => {
    const histograms = Object.entries(catalog).flatMap(([name, { kind }]) => (kind === 'histogram' ? [name] : []));
    const queries = queriesOf(dashboard.panels).join('\n');
    for (const name of histograms) expect(queries).not.toMatch(new RegExp(`${name}(?!_bucket|_sum|_count)`));
  });

  it('has panels of their own ids, with a title and a query each', () => {
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { type, title, targets = [] } of dashboard.panels) {
      expect({ title, isAsked: type === 'row' || targets.length > 0 }).toEqual({ title, isAsked: true });
    }
  });
});

describe('the alerts', () => {
  it('ask only for metrics and labels that there are', () => {
    expect([...alerts.matchAll(USE)].length).toBeGreaterThan(20);
    expect(unknownIn(alerts)).toEqual([]);
  });

  it('each lead to a section that says what to do', () => {
    const names = [...alerts.matchAll(/- alert: (\w+)$/gm)].map(([, name = '']) => name);
    expect(names.length).toBeGreaterThan(10);
    for (const name of names) {
      expect(alerts).toContain(`runbook: docs/operate.md#${name.toLowerCase()}`);
      expect(runbook).toMatch(new RegExp(`^#### ${name}$`, 'm'));
    }
  });
});
