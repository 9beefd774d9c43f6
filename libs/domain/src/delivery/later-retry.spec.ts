import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { nextHop, reachableDelayMs } from './later-retry.js';

const [S, M, H] = [1_000, 60_000, 3_600_000];
const SCHEDULE = [10 * S, M, 5 * M, 15 * M, H, 2 * H, 4 * H, 6 * H];

/** Goes from tier to tier, each of which is late by up to `latenessMs`. @returns the waits */
function hops(schedule: readonly number[], delayMs: number, latenessMs = 0): number[] {
  const waits: number[] = [];
  for (let leftMs = delayMs; leftMs > 0;) {
    const { tier, waitMs } = nextHop(schedule, leftMs);
    expect(waitMs).toBeLessThanOrEqual(schedule[tier - 1]!);
    waits.push(waitMs + latenessMs);
    leftMs -= waitMs + latenessMs;
  }
  return waits;
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

describe('a retry that waits longer than its tier', () => {
  it.each([
    [30 * S, [10 * S, 10 * S, 10 * S]],
    [90 * M, [H, 15 * M, 15 * M]],
    [6 * H, [6 * H]],
  ])('of %i ms goes through the longest tiers that fit', (delayMs, expected) => {
    expect(reachableDelayMs(SCHEDULE, delayMs)).toBe(delayMs);
    expect(hops(SCHEDULE, delayMs)).toEqual(expected);
  });

  it('is rounded up to what the tiers can wait', () => {
    expect(reachableDelayMs(SCHEDULE, 11 * S)).toBe(20 * S);
    expect(reachableDelayMs(SCHEDULE, 65 * S)).toBe(70 * S);
    expect(reachableDelayMs([H], 61 * M)).toBe(2 * H);
    expect(reachableDelayMs([40 * S, M], 100 * S)).toBe(100 * S);
  });

  it('never waits less than it should, even if its tiers are late, and takes no more of them then', () => {
    const schedules = fc.uniqueArray(fc.integer({ min: 100, max: 100_000 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(
        schedules,
        fc.integer({ min: 1, max: 500_000 }),
        fc.constantFrom(0, 1, 9),
        (schedule, delayMs, late) => {
          const reachable = reachableDelayMs(schedule, delayMs);
          expect(reachable).toBeGreaterThanOrEqual(delayMs);
          expect(reachable - delayMs).toBeLessThan(Math.min(...schedule));
          expect(sum(hops(schedule, reachable, late))).toBeGreaterThanOrEqual(reachable);
        },
      ),
    );
    expect(hops(SCHEDULE, 90 * M, 200).length).toBe(3);
  });
});
