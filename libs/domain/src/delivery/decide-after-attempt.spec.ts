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
});

describe('errorText', () => {
  it('is the class, then the detail where there is one', () => {
    expect(errorText({ kind: 'http_status', detail: '503' })).toBe('http_status: 503');
    expect(errorText({ kind: 'timeout', detail: '' })).toBe('timeout');
  });
});
