import type { AttemptOutcome } from './attempt.js';
import { retryAfter, type RetrySchedule } from './retry-schedule.js';

/** What happens after an attempt (contract 4.1). */
export type AfterAttempt =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly tier: number; readonly dueAtMs: number }
  | { readonly kind: 'exhausted' };

/** @param attempt the number of the attempt that was made, from 1 */
export function decideAfterAttempt(attempt: number, outcome: AttemptOutcome, schedule: RetrySchedule): AfterAttempt {
  if (outcome.error === null) return { kind: 'delivered' };
  const retry = retryAfter(schedule, attempt, outcome.startedAtMs + outcome.durationMs);
  return retry === null ? { kind: 'exhausted' } : { kind: 'retry', ...retry };
}
