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
  /** Whether each run is to keep it, and not their median alone. */
  readonly isForEachRun?: true;
}

/** Requests a second. */
export const REFERENCE_LOOP = 20_000;

/** A bound, and the figure if its scenario was run. */
export interface Comparison {
  readonly wanted: Wanted;
  readonly reached: Summary | undefined;
  /** What the bare loop made beside the scenario, in requests per second; `undefined` where it was not timed. */
  readonly bareLoop: number | undefined;
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
    isForEachRun: true,
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

/** The bounds of the scenarios that were run, for the machine as fast as its bare loop was beside each of them. */
export function compare(wanted: readonly Wanted[], reports: readonly Report[]): readonly Comparison[] {
  return wanted.flatMap((one) => {
    const report = reports.find(({ scenario }) => scenario === one.scenario);
    if (report === undefined) return [];
    const reached = report.figures.find(({ name, unit }) => name === one.figure && unit === one.unit);
    const worst = one.bound === 'at_least' ? reached?.least : reached?.most;
    const measured = (one.isForEachRun ? worst : reached?.median) ?? undefined;
    const bareLoop = bareLoopOf(report, one.figure);
    const speed = (bareLoop ?? REFERENCE_LOOP) / REFERENCE_LOOP;
    const value = one.value * { rate: speed, time: 1 / speed, fixed: 1 }[one.kind];
    const isKept =
      measured === undefined ? undefined : one.bound === 'at_least' ? measured >= value : measured <= value;
    return [{ wanted: { ...one, value }, reached, bareLoop, isKept, disturbedBy: disturbance(report.figures) }];
  });
}

/** The bare loop of the part of the scenario that the figure is of, or of all of it. */
function bareLoopOf({ figures }: Report, of: string): number | undefined {
  const loops = figures.filter(({ name, unit }) => name.includes('bare loop') && unit === 'requests/s');
  const [part] = of.split(': ');
  const ofPart = loops.filter(({ name }) => name.startsWith(`${part}: `));
  const measured = (ofPart.length > 0 ? ofPart : loops).flatMap((loop) => loop.median ?? []);
  return measured.length === 0 ? undefined : median(measured);
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
    { title: 'bare loop', align: 'right' },
    { title: '', align: 'left' },
    { title: '', align: 'left' },
  ] as const;
  const rows = comparisons.map(({ wanted, reached, bareLoop, isKept, disturbedBy }) => [
    wanted.scenario,
    wanted.figure,
    numberText(reached?.median ?? null),
    reached === undefined ? '' : rangeText(reached),
    `${wanted.bound === 'at_least' ? '≥' : '≤'} ${numberText(wanted.value)}`,
    [wanted.unit, ...(wanted.isForEachRun ? ['in each run'] : [])].join(' '),
    bareLoop === undefined ? '' : numberText(bareLoop),
    VERDICTS.get(isKept) ?? '',
    disturbanceText(disturbedBy),
  ]);
  return textTable(columns, rows).join('\n');
}
