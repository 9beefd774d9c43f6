import { describe, expect, it } from '@jest/globals';
import { Histogram } from './histogram.js';

function histogramOf(...values: readonly number[]): Histogram {
  const histogram = new Histogram();
  for (const value of values) histogram.record(value);
  return histogram;
}

describe('a histogram', () => {
  it('gives the value that the share of all values does not exceed', () => {
    const hundred = histogramOf(...Array.from({ length: 100 }, (_, index) => 100 - index));
    expect([0, 0.5, 0.99, 1].map((share) => hundred.quantile(share))).toEqual([1, 50, 99, 100]);
  });

  it('orders by value and not by text, and goes on after it was asked', () => {
    const histogram = histogramOf(9, 10);
    expect(histogram.quantile(1)).toBe(10);
    histogram.record(1);
    expect(histogram.quantile(0.3)).toBe(1);
  });

  it('has no quantile without values', () => {
    expect(histogramOf().quantile(0.5)).toBeNaN();
  });
});
