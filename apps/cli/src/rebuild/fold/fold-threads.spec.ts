import { describe, expect, it } from '@jest/globals';
import { shareOut } from './fold-threads.js';

const stretch = (partition: number, from: number, to: number) => ({ topic: 'log', partition, from, to });

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
