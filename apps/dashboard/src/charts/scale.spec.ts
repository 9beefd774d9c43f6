import { describe, expect, it } from '@jest/globals';
import { axisMaximum, roundMaximum } from './scale.js';

describe('the end of an axis', () => {
  it.each([
    [0, 4],
    [3, 4],
    [5, 5],
    [11, 20],
    [23, 25],
    [51, 100],
    [1_200, 2_000],
  ])('for a maximum of %d is %d', (max, end) => {
    expect(roundMaximum(max)).toBe(end);
  });

  it('is never below the maximum', () => {
    for (let max = 0; max < 5_000; max += 7) expect(roundMaximum(max)).toBeGreaterThanOrEqual(max);
  });
});

describe('the end of an axis', () => {
  it('is above all values that are alike', () => {
    expect(axisMaximum([3, 5, 8, 9, 9, 10])).toBe(10);
    expect(axisMaximum([])).toBe(4);
  });

  it('is not set by one burst', () => {
    expect(axisMaximum([8, 9, 10, 10, 10, 9, 8, 9_000])).toBe(20);
  });

  it('is set by a burst if there is nothing to compare it with', () => {
    expect(axisMaximum([0, 0, 9_000])).toBe(10_000);
  });
});
