import { describe, expect, it } from '@jest/globals';
import { roundMaximum } from './scale.js';

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
