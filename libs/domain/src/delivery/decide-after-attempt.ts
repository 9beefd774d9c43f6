import type { AttemptOutcome } from './attempt.js';
import type { DeliverySettings } from './delivery-settings.js';
import { MAX_RETRY_AFTER_MS, nextHop, reachableDelayMs } from './later-retry.js';
import { retryAfter, type RetrySchedule } from './retry-schedule.js';

const GONE = 410;

/** What happens after an attempt (contract 4.1). */
export type AfterAttempt =
  | { readonly kind: 'delivered' }
  | {
      readonly kind: 'retry';
      /** The tier in which the retry waits next. */
      readonly tier: number;
      readonly dueAtMs: number;
      /** Until when it waits in that tier, if it is not due then. */
      readonly waitUntilMs?: number;
    }
  | {
      readonly kind: 'exhausted';
      /** Whether the attempt disables the endpoint. */
      readonly disables?: true;
    };

/**
 * @param attempt the number of the attempt that was made, from 1
 * @param settings the endpoint's settings that differ from the defaults
 */
export function decideAfterAttempt(
  attempt: number,
  outcome: AttemptOutcome,
  schedule: RetrySchedule,
  settings: Partial<DeliverySettings> = {},
): AfterAttempt {
  if (outcome.error === null) return { kind: 'delivered' };
  if (settings.disableOnGone === true && outcome.response?.code === GONE) return { kind: 'exhausted', disables: true };
  const endedAtMs = outcome.startedAtMs + outcome.durationMs + (outcome.untilEndMs ?? 0);
  const retry = retryAfter(schedule, attempt, endedAtMs);
  if (retry === null) return { kind: 'exhausted' };
  const askedMs = settings.respectRetryAfter === true ? (outcome.response?.retryAfterMs ?? 0) : 0;
  if (endedAtMs + askedMs <= retry.dueAtMs) return { kind: 'retry', ...retry };
  const delayMs = reachableDelayMs(schedule, Math.min(askedMs, MAX_RETRY_AFTER_MS));
  if (endedAtMs + delayMs <= retry.dueAtMs) return { kind: 'retry', ...retry };
  const { tier, waitMs } = nextHop(schedule, delayMs);
  return { kind: 'retry', tier, dueAtMs: endedAtMs + delayMs, waitUntilMs: endedAtMs + waitMs };
}
