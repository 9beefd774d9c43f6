import { disturbance, disturbanceText } from './disturbance.js';
import { numberText } from './number-text.js';
import { rangeText, type Report } from './report.js';
import { median, type Summary } from './summary.js';
import { textTable } from './text-table.js';

/** A bound that a figure of a scenario is meant to keep, on a machine of 2 cores that does nothing else. */
export interface Wanted {
  readonly scenario: string;
  readonly figure: string;
  readonly unit: string;
  readonly bound: 'at_least' | 'at_most';
  /** On a machine whose bare loop makes `REFERENCE_LOOP` requests a second. */
  readonly value: number;
  /** How the value changes with the machine: a rate grows with its speed, a time shrinks; a ratio or a size stays. */
  readonly kind: 'rate' | 'time' | 'fixed';
}

/** Requests a second. */
export const REFERENCE_LOOP = 20_000;

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

/** A goal that is missed has its reason in docs/benchmarks.md. */
export const WANTED: readonly Wanted[] = [
  {
    scenario: 'burst',
    figure: `${SINGLE}: delivered`,
    unit: 'deliveries/s',
    bound: 'at_least',
    value: 2_800,
    kind: 'rate',
  },
  {
    scenario: 'burst',
    figure: `${SINGLE}: delivered, of the bare pipeline`,
    unit: '×',
    bound: 'at_least',
    value: 0.6,
    kind: 'fixed',
  },
  {
    scenario: 'burst',
    figure: `${SINGLE}: acknowledgement, p99`,
    unit: 'ms',
    bound: 'at_most',
    value: 60,
    kind: 'time',
  },
  {
    scenario: 'burst',
    figure: `${SINGLE}: publish to receipt, p50`,
    unit: 'ms',
    bound: 'at_most',
    value: 60,
    kind: 'time',
  },
  {
    scenario: 'burst',
    figure: `${SINGLE}: publish to receipt, p99`,
    unit: 'ms',
    bound: 'at_most',
    value: 150,
    kind: 'time',
  },
  {
    scenario: 'burst',
    figure: `${SINGLE}: CPU per 1,000 deliveries: all servers`,
    unit: 's',
    bound: 'at_most',
    value: 0.7,
    kind: 'time',
  },
  {
    scenario: 'burst',
    figure: `${SINGLE}: memory, Node stages: peak`,
    unit: 'MB',
    bound: 'at_most',
    value: 262,
    kind: 'fixed',
  },
  {
    scenario: 'burst',
    figure: `${SINGLE}: memory, all servers`,
    unit: 'MB',
    bound: 'at_most',
    value: 524,
    kind: 'fixed',
  },
  {
    scenario: 'burst',
    figure: `${BULK}: delivered`,
    unit: 'deliveries/s',
    bound: 'at_least',
    value: 4_000,
    kind: 'rate',
  },
  { scenario: 'fanout', figure: 'delivered', unit: 'deliveries/s', bound: 'at_least', value: 5_500, kind: 'rate' },
  { scenario: 'fanout', figure: 'publish to receipt, p99', unit: 'ms', bound: 'at_most', value: 2_000, kind: 'time' },
  { scenario: 'steady', figure: 'publish to receipt, p50', unit: 'ms', bound: 'at_most', value: 4, kind: 'time' },
  { scenario: 'steady', figure: 'publish to receipt, p99', unit: 'ms', bound: 'at_most', value: 9, kind: 'time' },
  {
    scenario: 'steady',
    figure: 'CPU per 1,000 deliveries: all servers',
    unit: 's',
    bound: 'at_most',
    value: 3.5,
    kind: 'time',
  },
  { scenario: 'fresh', figure: 'publish to receipt, p50', unit: 'ms', bound: 'at_most', value: 4, kind: 'time' },
  { scenario: 'fresh', figure: 'publish to receipt, p99', unit: 'ms', bound: 'at_most', value: 9, kind: 'time' },
  { scenario: 'idle', figure: 'cores in use: all servers', unit: '', bound: 'at_most', value: 0.03, kind: 'time' },
  { scenario: 'idle', figure: 'memory, Node stages', unit: 'MB', bound: 'at_most', value: 157, kind: 'fixed' },
  { scenario: 'read', figure: 'read', unit: 'events/s', bound: 'at_least', value: 60_000, kind: 'rate' },
  { scenario: 'isolation', figure: `${HANGING}: p99`, unit: 'ms', bound: 'at_most', value: 20, kind: 'time' },
  {
    scenario: 'isolation',
    figure: `${HANGING}: p99, compared with alone`,
    unit: '×',
    bound: 'at_most',
    value: 1.2,
    kind: 'fixed',
  },
  { scenario: 'many', figure: 'publish to receipt, p50', unit: 'ms', bound: 'at_most', value: 12, kind: 'time' },
  {
    scenario: 'many',
    figure: 'CPU per 1,000 deliveries: all servers',
    unit: 's',
    bound: 'at_most',
    value: 1.2,
    kind: 'time',
  },
  { scenario: 'million', figure: 'publish to receipt, p50', unit: 'ms', bound: 'at_most', value: 4, kind: 'time' },
  {
    scenario: 'growth-payload',
    figure: 'events of 100 KB: delivered',
    unit: 'deliveries/s',
    bound: 'at_least',
    value: 600,
    kind: 'rate',
  },
];

/** The bounds of the scenarios that were run, for the machine that they ran on, as far as its bare loop was measured. */
export function compare(wanted: readonly Wanted[], reports: readonly Report[]): readonly Comparison[] {
  const speed = speedOf(reports);
  return wanted.flatMap((one) => {
    const report = reports.find(({ scenario }) => scenario === one.scenario);
    if (report === undefined) return [];
    const reached = report.figures.find(({ name, unit }) => name === one.figure && unit === one.unit);
    const measured = reached?.median ?? undefined;
    const value = one.value * { rate: speed, time: 1 / speed, fixed: 1 }[one.kind];
    const isKept =
      measured === undefined ? undefined : one.bound === 'at_least' ? measured >= value : measured <= value;
    return [{ wanted: { ...one, value }, reached, isKept, disturbedBy: disturbance(report.figures) }];
  });
}

/** How fast the machine is, of the one that the bounds are for; 1 where that is not known. */
function speedOf(reports: readonly Report[]): number {
  const loops = reports
    .flatMap(({ figures }) => figures)
    .filter(({ name, unit, median }) => name.includes('bare loop') && unit === 'requests/s' && median !== null);
  return loops.length === 0 ? 1 : median(loops.map((loop) => loop.median ?? Number.NaN)) / REFERENCE_LOOP;
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
