import { cpus } from 'node:os';
import { numberText } from './number-text.js';
import type { Summary } from './summary.js';
import { textTable, type Column } from './text-table.js';

/** What a scenario found. */
export interface Report {
  readonly scenario: string;
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

export function reportTable({ scenario, figures, settings }: Report): string {
  const rows = figures.map((one) => [`  ${one.name}`, numberText(one.median), one.unit, rangeText(one)]);
  const set = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const title = set.length === 0 ? scenario : `${scenario} (${set.join(', ')})`;
  return [title, ...textTable(COLUMNS, rows), ''].join('\n');
}

/** Where the figures come from. */
export function machine(): Readonly<Record<string, string | number>> {
  const processors = cpus();
  return { cpu: processors[0]?.model ?? 'unknown', cpus: processors.length, node: process.version };
}
