import { availableParallelism } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { shareOut, threadsFor } from './fold-threads.js';

const stretch = (partition: number, from: number, to: number) => ({ topic: 'log', partition, from, to });

describe('the threads', () => {
  it.each([
    ['one, if a second thread would take longer to start', 499, 8, 1],
    ['as many as are wanted', 500, 8, 8],
    ['one by default, if there are few records', 49_999, null, 1],
  ])('are %s', (_, records, wanted, threads) => {
    expect(threadsFor([stretch(0, 10, 10 + records)], wanted)).toBe(threads);
  });

  it('are half the cores by default, if there are many records', () => {
    expect(threadsFor([stretch(0, 0, 30_000), stretch(1, 0, 20_000)], null)).toBe(
      Math.ceil(availableParallelism() / 2),
    );
  });
});

describe('the shares of the threads', () => {
  it('are about as long as each other, by the records that are left', () => {
    const long = stretch(0, 900, 1_000);
    const [half, otherHalf] = [stretch(1, 0, 50), stretch(2, 10, 65)];
    expect(shareOut([half, long, otherHalf], 2)).toEqual([[long], [otherHalf, half]]);
  });

  it('are no more than there are partitions, and none is empty', () => {
    const stretches = [stretch(0, 0, 5), stretch(1, 0, 5)];
    expect(shareOut(stretches, 8)).toEqual([[stretches[0]], [stretches[1]]]);
  });
});
