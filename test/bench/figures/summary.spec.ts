import { describe, expect, it } from '@jest/globals';
import { figure } from './figure.js';
import { median, summarise } from './summary.js';

describe('the median', () => {
  it('is the one in the middle, whatever the order', () => {
    expect(median([30, 1, 2])).toBe(2);
  });

  it('is the mean of the two in the middle', () => {
    expect(median([4, 1, 100, 2])).toBe(3);
  });

  it('is none of none', () => {
    expect(median([])).toBeNaN();
  });
});

describe('a summary', () => {
  it('holds the median and the range of each figure', () => {
    const runs = [3, 1, 8].map((value) => [figure('delivered', value, '/s'), figure('repeats', 0, '')]);
    expect(summarise(runs)).toEqual([
      { name: 'delivered', unit: '/s', runs: 3, median: 3, least: 1, most: 8 },
      { name: 'repeats', unit: '', runs: 3, median: 0, least: 0, most: 0 },
    ]);
  });

  it('keeps figures apart that differ in their unit alone', () => {
    expect(summarise([[figure('read', 5, 'events/s'), figure('read', 7, 'MB/s')]]).map(({ median }) => median)).toEqual(
      [5, 7],
    );
  });

  it('shows what could not be measured', () => {
    expect(summarise([[figure('CPU', null, 's')]])).toEqual([
      { name: 'CPU', unit: 's', runs: 1, median: null, least: null, most: null },
    ]);
  });
});
