import { cpus } from 'node:os';
import { disturbance, disturbanceText } from './disturbance.js';
import { numberText } from './number-text.js';
import type { Summary } from './summary.js';
import { textTable, type Column } from './text-table.js';

/** What a scenario found. */
export interface Report {
  readonly scenario: string;
  /** `rows`: figures are named `<row>: <column>`, and printed as one table. */
  readonly layout: 'list' | 'rows';
  readonly figures: readonly Summary[];
  /** How the servers were configured, by the servers themselves. */
  readonly settings: Readonly<Record<string, string>>;
}

const COLUMNS: readonly Column[] = [
  { title: '', align: 'left' },
  { title: '', align: 'right' },
  { title: '', align: 'left' },
  { title: '', align: 'left' },
];

export function rangeText({ runs, least, most }: Pick<Summary, 'runs' | 'least' | 'most'>): string {
  return runs > 1 ? `(${numberText(least)} – ${numberText(most)}, n = ${runs})` : '';
}

export function reportTable({ scenario, layout, figures, settings }: Report): string {
  const set = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const title = set.length === 0 ? scenario : `${scenario} (${set.join(', ')})`;
  const lines = layout === 'rows' ? rowLines(figures) : listLines(figures);
  const warning = disturbanceText(disturbance(figures));
  const warned = warning === '' ? [] : [`! ${warning}`];
  return [title, ...[...lines, ...warned].map((line) => `  ${line}`), ''].join('\n');
}

function listLines(figures: readonly Summary[]): readonly string[] {
  return textTable(
    COLUMNS,
    figures.map((one) => [one.name, numberText(one.median), one.unit, rangeText(one)]),
  );
}

/** One line for each row, in the order in which rows and columns come up; empty where a row has no such figure. */
function rowLines(figures: readonly Summary[]): readonly string[] {
  const rows = new Map<string, Map<string, string>>();
  const columns = new Set<string>();
  for (const { name, unit, median } of figures) {
    const [row = '', ...rest] = name.split(': ');
    const column = `${rest.join(': ')}${unit === '' ? '' : `, ${unit}`}`;
    columns.add(column);
    rows.set(row, (rows.get(row) ?? new Map<string, string>()).set(column, numberText(median)));
  }
  const titles = [...columns];
  return textTable(
    [{ title: '', align: 'left' }, ...titles.map((title) => ({ title, align: 'right' as const }))],
    [...rows].map(([row, cells]) => [row, ...titles.map((title) => cells.get(title) ?? '')]),
  );
}

/** Where the figures come from. */
export function machine(): Readonly<Record<string, string | number>> {
  const processors = cpus();
  return { cpu: processors[0]?.model ?? 'unknown', cpus: processors.length, node: process.version };
}
