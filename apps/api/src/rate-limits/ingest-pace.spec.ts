import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ApiKeyId } from '#libs/domain';
import { IngestPace } from './ingest-pace.js';

const [ONE, OTHER] = ['one' as ApiKeyId, 'other' as ApiKeyId];

const MIB = 1024 * 1024;
const events = (count: number) => ({ events: count, bytes: count * 700 });

let pace: IngestPace;

beforeEach(() => {
  // 2,000 events a second.
  pace = new IngestPace({ rateLimitPerSecond: 100, rateLimitBytesPerSecond: 4 * MIB });
});

describe('the large requests of a key', () => {
  it('go through one after the other at its rate, but for the first quarter of a second', () => {
    expect([1, 2, 3, 4, 5].map(() => pace.take(ONE, events(500), 0))).toEqual([0, 0, 250, 500, 750]);
  });

  it('do not wait once their turn has passed', () => {
    pace.take(ONE, events(4_000), 0);
    expect(pace.take(ONE, events(500), 1_000)).toBe(750);
    expect(pace.take(ONE, events(500), 2_250)).toBe(0);
    expect(pace.take(ONE, events(500), 10_000)).toBe(0);
  });

  it('delay no small one, and no other key', () => {
    pace.take(ONE, events(4_000), 0);
    expect(pace.take(ONE, events(20), 0)).toBe(0);
    expect(pace.take(OTHER, events(500), 0)).toBe(0);
    expect(pace.take(ONE, events(21), 0)).toBe(1_760);
  });

  it('go through at its rate of bytes, too', () => {
    const large = { events: 15, bytes: 4 * MIB };
    expect([1, 2, 3].map(() => pace.take(ONE, large, 0))).toEqual([0, 750, 1_750]);
    expect(pace.take(ONE, { events: 1, bytes: 256 * 1024 }, 0)).toBe(0);
  });

  it('wait for one with more than the quota as if it were the quota', () => {
    pace.take(ONE, { events: 500, bytes: 100 * MIB }, 0);
    expect(pace.take(ONE, events(500), 0)).toBe(1_750);
  });

  it('wait for no longer than the window of the quota', () => {
    const waits = Array.from({ length: 100 }, (_, nth) => nth)
      // A quota of 4,000 in two seconds, used at once.
      .flatMap((window) => Array.from({ length: 8 }, () => pace.take(ONE, events(500), window * 2_000)));
    expect(Math.max(...waits)).toBeLessThan(2_000);
  });
});
