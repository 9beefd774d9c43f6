import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ApiKeyId } from '#libs/domain';
import { EventPace } from './event-pace.js';

const [ONE, OTHER] = ['one' as ApiKeyId, 'other' as ApiKeyId];

let pace: EventPace;

beforeEach(() => {
  // 2,000 events a second.
  pace = new EventPace({ rateLimitPerSecond: 100 });
});

describe('the large requests of a key', () => {
  it('go through one after the other at its rate, but for the first quarter of a second', () => {
    expect([1, 2, 3, 4, 5].map(() => pace.take(ONE, 500, 0))).toEqual([0, 0, 250, 500, 750]);
  });

  it('do not wait once their turn has passed', () => {
    pace.take(ONE, 4_000, 0);
    expect(pace.take(ONE, 500, 1_000)).toBe(750);
    expect(pace.take(ONE, 500, 2_250)).toBe(0);
    expect(pace.take(ONE, 500, 10_000)).toBe(0);
  });

  it('delay no small one, and no other key', () => {
    pace.take(ONE, 4_000, 0);
    expect(pace.take(ONE, 20, 0)).toBe(0);
    expect(pace.take(OTHER, 500, 0)).toBe(0);
    expect(pace.take(ONE, 21, 0)).toBe(1_760);
  });

  it('wait for no longer than the window of the quota', () => {
    const waits = Array.from({ length: 100 }, (_, nth) => nth)
      // A quota of 4,000 in two seconds, used at once.
      .flatMap((window) => Array.from({ length: 8 }, () => pace.take(ONE, 500, window * 2_000)));
    expect(Math.max(...waits)).toBeLessThan(2_000);
  });
});
