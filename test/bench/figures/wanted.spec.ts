import { describe, expect, it } from '@jest/globals';
import type { Report } from './report.js';
import { compare, comparisonTable, REFERENCE_LOOP, type Wanted } from './wanted.js';

const LEAST: Wanted = {
  scenario: 'burst',
  figure: 'delivered',
  unit: '/s',
  bound: 'at_least',
  value: 100,
  kind: 'rate',
};
const MOST: Wanted = { scenario: 'burst', figure: 'p99', unit: 'ms', bound: 'at_most', value: 30, kind: 'time' };

function report(...figures: readonly (readonly [name: string, unit: string, median: number | null])[]): Report {
  return {
    scenario: 'burst',
    layout: 'list',
    settings: {},
    figures: figures.map(([name, unit, median]) => ({ name, unit, median, runs: 3, least: median, most: median })),
  };
}

function verdicts(...reports: readonly Report[]) {
  return compare([LEAST, MOST], reports).map(({ isKept }) => isKept);
}

describe('a target', () => {
  it('is reached at the bound itself', () => {
    expect(verdicts(report(['delivered', '/s', 100], ['p99', 'ms', 30]))).toEqual([true, true]);
  });

  it('is not reached beyond it', () => {
    expect(verdicts(report(['delivered', '/s', 99.9], ['p99', 'ms', 30.1]))).toEqual([false, false]);
  });

  it('is neither reached nor missed where the figure is missing, has another unit or could not be measured', () => {
    expect(verdicts(report(['delivered', 'MB/s', 200], ['p99', 'ms', null]))).toEqual([undefined, undefined]);
  });

  it('is for the machine that it was measured on: a rate grows with its bare loop, a time shrinks, and a ratio stays', () => {
    const fast = report(['bare loop, before', 'requests/s', 1.5 * REFERENCE_LOOP]);
    const ratio: Wanted = { ...MOST, kind: 'fixed' };
    expect(compare([LEAST, MOST, ratio], [fast]).map(({ wanted }) => wanted.value)).toEqual([150, 20, 30]);
  });

  it('takes the bare loop of its own part', () => {
    const both = report(
      ['1 a request: bare loop, before and after', 'requests/s', REFERENCE_LOOP],
      ['100 a request: bare loop, before and after', 'requests/s', 2 * REFERENCE_LOOP],
    );
    const ofParts = ['1 a request', '100 a request'].map((part) => ({ ...LEAST, figure: `${part}: delivered` }));
    expect(compare(ofParts, [both]).map(({ wanted }) => wanted.value)).toEqual([100, 200]);
  });

  it('may be for each run: then the worst of them counts', () => {
    const [p99] = report(['p99', 'ms', 30]).figures.map((one) => ({ ...one, most: 30.1 }));
    const runs = { ...report(), figures: p99 === undefined ? [] : [p99] };
    expect(compare([MOST, { ...MOST, isForEachRun: true }], [runs]).map(({ isKept }) => isKept)).toEqual([true, false]);
  });

  it('is left out where the scenario was not run', () => {
    expect(verdicts()).toEqual([]);
  });

  it('is shown with the measured value', () => {
    expect(comparisonTable(compare([MOST], [report(['p99', 'ms', 45])]))).toBe(
      [
        'scenario  figure  reached                        wanted      bare loop',
        'burst     p99        45.0  (45.0 – 45.0, n = 3)  ≤ 30.0  ms             NOT REACHED',
      ].join('\n'),
    );
  });
});
