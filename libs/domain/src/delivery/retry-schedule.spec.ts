import { describe, expect, it } from '@jest/globals';
import { retryAfter } from './retry-schedule.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Contract 6.4. */
const SPEC_SCHEDULE = [
  10_000,
  MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
  6 * HOUR_MS,
];

describe('retryAfter', () => {
  it.each(SPEC_SCHEDULE.map((delayMs, index) => [index + 1, delayMs]))(
    'has the retry after attempt %i due its tier later than the end of that attempt (%i ms)',
    (attempt, delayMs) => {
      expect(retryAfter(SPEC_SCHEDULE, attempt, 1_000_000)).toEqual({ tier: attempt, dueAtMs: 1_000_000 + delayMs });
    },
  );

  it('has no retry after the ninth attempt: 8 retries, 9 attempts in total', () => {
    expect(retryAfter(SPEC_SCHEDULE, 9, 1_000_000)).toBeNull();
  });

  it('makes the last attempt about 13 hours after the event', () => {
    let endedAtMs = 0;
    for (let attempt = 1; ; attempt++) {
      const retry = retryAfter(SPEC_SCHEDULE, attempt, endedAtMs);
      if (retry === null) break;
      endedAtMs = retry.dueAtMs;
    }
    expect(Math.round(endedAtMs / HOUR_MS)).toBe(13);
  });
});
