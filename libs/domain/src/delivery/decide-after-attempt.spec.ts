import { describe, expect, it } from '@jest/globals';
import { errorText, type AttemptOutcome } from './attempt.js';
import { decideAfterAttempt } from './decide-after-attempt.js';

const SCHEDULE = [10_000, 60_000];

function anOutcome(error: AttemptOutcome['error']): AttemptOutcome {
  return { startedAtMs: 5_000, durationMs: 700, response: null, error, attributes: {} };
}

const FAILED = anOutcome({ kind: 'http_status', detail: '500' });

describe('decideAfterAttempt', () => {
  it.each([1, 2, 3])('is delivered when attempt %i succeeds', (attempt) => {
    expect(decideAfterAttempt(attempt, anOutcome(null), SCHEDULE)).toEqual({ kind: 'delivered' });
  });

  it.each([
    [1, 15_700],
    [2, 65_700],
  ])('retries after failed attempt %i, counted from its end', (attempt, dueAtMs) => {
    expect(decideAfterAttempt(attempt, FAILED, SCHEDULE)).toEqual({ kind: 'retry', tier: attempt, dueAtMs });
  });

  it('counts from the end of an answer whose body takes its time', () => {
    const after = decideAfterAttempt(1, { ...FAILED, untilEndMs: 9_000 }, SCHEDULE);
    expect(after).toEqual({ kind: 'retry', tier: 1, dueAtMs: 24_700 });
  });

  it('is exhausted when the last retry fails', () => {
    expect(decideAfterAttempt(3, FAILED, SCHEDULE)).toEqual({ kind: 'exhausted' });
  });

  it('is exhausted when an attempt fails that the schedule has no retries for any more, since it was made shorter', () => {
    expect(decideAfterAttempt(8, FAILED, SCHEDULE)).toEqual({ kind: 'exhausted' });
  });

  it.each(['http_status', 'timeout', 'dns', 'connect', 'tls', 'blocked_address'] as const)(
    'counts %s as a failure',
    (kind) => {
      expect(decideAfterAttempt(1, anOutcome({ kind, detail: '' }), SCHEDULE).kind).toBe('retry');
    },
  );

  describe('of an endpoint with settings of its own', () => {
    const answered = (code: number, retryAfterMs?: number): AttemptOutcome => ({
      ...anOutcome({ kind: 'http_status', detail: String(code) }),
      response: { code, excerpt: '', ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
    });
    const respects = { respectRetryAfter: true };

    it('retries later if the answer asks for it, through the tiers that wait so long', () => {
      const after = decideAfterAttempt(1, answered(503, 70_000), SCHEDULE, respects);
      expect(after).toEqual({ kind: 'retry', tier: 2, dueAtMs: 75_700, waitUntilMs: 65_700 });
    });

    it('never retries earlier than the schedule, and not later than 6 hours', () => {
      const usual = { kind: 'retry', tier: 2, dueAtMs: 65_700 };
      expect(decideAfterAttempt(2, answered(429, 1_000), SCHEDULE, respects)).toEqual(usual);
      expect(decideAfterAttempt(2, answered(429), SCHEDULE, respects)).toEqual(usual);
      expect(decideAfterAttempt(1, answered(429, 10 ** 12), SCHEDULE, respects)).toMatchObject({
        dueAtMs: 5_700 + 6 * 3_600_000,
      });
    });

    it('keeps to a schedule whose delay is longer than that', () => {
      const after = decideAfterAttempt(1, answered(429, 10 ** 12), [7 * 3_600_000], respects);
      expect(after).toEqual({ kind: 'retry', tier: 1, dueAtMs: 5_700 + 7 * 3_600_000 });
    });

    it('does neither unless the endpoint says so', () => {
      expect(decideAfterAttempt(1, answered(503, 70_000), SCHEDULE)).toEqual({
        kind: 'retry',
        tier: 1,
        dueAtMs: 15_700,
      });
      expect(decideAfterAttempt(1, answered(410), SCHEDULE).kind).toBe('retry');
    });

    it('ends with a 410 if the endpoint says so', () => {
      const gone = { disableOnGone: true };
      expect(decideAfterAttempt(1, answered(410), SCHEDULE, gone)).toEqual({ kind: 'exhausted', disables: true });
      expect(decideAfterAttempt(1, answered(404), SCHEDULE, gone).kind).toBe('retry');
    });
  });
});

describe('errorText', () => {
  it('is the class, then the detail where there is one', () => {
    expect(errorText({ kind: 'http_status', detail: '503' })).toBe('http_status: 503');
    expect(errorText({ kind: 'timeout', detail: '' })).toBe('timeout');
  });
});
