import { describe, expect, it } from '@jest/globals';
import { fittingWindow } from './fitting-window.js';

const totals = (...active: readonly number[]) =>
  Array.from({ length: 60 }, (_, index) => (active.includes(index) ? 1 : 0));

describe('the window of a chart', () => {
  it.each([
    ['all activity is recent', totals(58, 59), 15],
    ['it just fits', totals(45), 15],
    ['it is older', totals(44, 59), 60],
    ['nothing happened', totals(), 60],
  ])('suits the data where %s', (_where, values, window) => {
    expect(fittingWindow(values, 1, [15, 60])).toBe(window);
  });
});
