import { disturbance, disturbanceText } from './disturbance.js';
import { numberText } from './number-text.js';
import { rangeText, type Report } from './report.js';
import type { Summary } from './summary.js';
import { textTable } from './text-table.js';

/** A bound that a figure of a scenario is meant to keep, on a machine of 2 cores that does nothing else. */
export interface Wanted {
  readonly scenario: string;
  readonly figure: string;
  readonly unit: string;
  readonly bound: 'at_least' | 'at_most';
  readonly value: number;
}

/** A bound, and the figure if its scenario was run. */
export interface Comparison {
  readonly wanted: Wanted;
  readonly reached: Summary | undefined;
  /** `undefined` where nothing was measured. */
  readonly isKept: boolean | undefined;
  /** What else ran during the scenario, if it was more than next to nothing: cores. */
  readonly disturbedBy: number | undefined;
}

const SINGLE = '1 a request';
const BULK = '100 a request';
const HANGING = 'beside one that hangs';

export const WANTED: readonly Wanted[] = [
  { scenario: 'burst', figure: `${SINGLE}: delivered`, unit: 'deliveries/s', bound: 'at_least', value: 1_500 },
  { scenario: 'burst', figure: `${SINGLE}: delivered, of the bare loop`, unit: '×', bound: 'at_least', value: 0.4 },
  { scenario: 'burst', figure: `${BULK}: delivered`, unit: 'deliveries/s', bound: 'at_least', value: 2_200 },
  { scenario: 'fanout', figure: 'delivered', unit: 'deliveries/s', bound: 'at_least', value: 2_700 },
  { scenario: 'steady', figure: 'publish to receipt, p50', unit: 'ms', bound: 'at_most', value: 6 },
  { scenario: 'steady', figure: 'publish to receipt, p99', unit: 'ms', bound: 'at_most', value: 30 },
  { scenario: 'isolation', figure: `${HANGING}: p99`, unit: 'ms', bound: 'at_most', value: 60 },
  { scenario: 'isolation', figure: `${HANGING}: p99, compared with alone`, unit: '×', bound: 'at_most', value: 1.5 },
  { scenario: 'read', figure: 'read', unit: 'events/s', bound: 'at_least', value: 50_000 },
  // What a garbage collector leaves to the next time is no growth.
  { scenario: 'read', figure: 'memory, Node stages: growth', unit: 'MB', bound: 'at_most', value: 20 },
  {
    scenario: 'burst',
    figure: `${SINGLE}: CPU per 1,000 deliveries: all servers`,
    unit: 's',
    bound: 'at_most',
    value: 1,
  },
  { scenario: 'burst', figure: `${SINGLE}: memory, Node stages: peak`, unit: 'MB', bound: 'at_most', value: 350 },
  { scenario: 'idle', figure: 'memory, Node stages', unit: 'MB', bound: 'at_most', value: 200 },
];

/** The bounds of the scenarios that were run. */
export function compare(wanted: readonly Wanted[], reports: readonly Report[]): readonly Comparison[] {
  return wanted.flatMap((one) => {
    const report = reports.find(({ scenario }) => scenario === one.scenario);
    if (report === undefined) return [];
    const reached = report.figures.find(({ name, unit }) => name === one.figure && unit === one.unit);
    const median = reached?.median ?? undefined;
    const isKept =
      median === undefined ? undefined : one.bound === 'at_least' ? median >= one.value : median <= one.value;
    return [{ wanted: one, reached, isKept, disturbedBy: disturbance(report.figures) }];
  });
}

const VERDICTS = new Map<boolean | undefined, string>([
  [true, 'reached'],
  [false, 'NOT REACHED'],
  [undefined, 'not measured'],
]);

/** Returns each measured value with its target, a line for each bound. */
export function comparisonTable(comparisons: readonly Comparison[]): string {
  const columns = [
    { title: 'scenario', align: 'left' },
    { title: 'figure', align: 'left' },
    { title: 'reached', align: 'right' },
    { title: '', align: 'left' },
    { title: 'wanted', align: 'right' },
    { title: '', align: 'left' },
    { title: '', align: 'left' },
    { title: '', align: 'left' },
  ] as const;
  const rows = comparisons.map(({ wanted, reached, isKept, disturbedBy }) => [
    wanted.scenario,
    wanted.figure,
    numberText(reached?.median ?? null),
    reached === undefined ? '' : rangeText(reached),
    `${wanted.bound === 'at_least' ? '≥' : '≤'} ${numberText(wanted.value)}`,
    wanted.unit,
    VERDICTS.get(isKept) ?? '',
    disturbanceText(disturbedBy),
  ]);
  return textTable(columns, rows).join('\n');
}
