import type { DueAttempt } from './attempt.js';

/** Returns when an attempt is due in the time of the delivery log, epoch milliseconds: never before its delivery. */
export function loggedDueMs({ delivery, dueAtMs, leadMs = 0 }: Pick<DueAttempt, 'delivery' | 'dueAtMs' | 'leadMs'>) {
  return Math.max(delivery.createdAtMs, dueAtMs + leadMs);
}

/**
 * Returns how far an attempt's times in the delivery log are ahead of its dispatcher's clock, milliseconds; 0 while all
 * clocks agree. The log never shows an attempt before its delivery was created, or before it was due. Those times come
 * from other clocks: the broker's, and another dispatcher's or the api's. Retries and signatures use the dispatcher's
 * clock, so that the clocks of the broker and the api neither delay nor break them.
 */
export function attemptLeadMs(due: Pick<DueAttempt, 'delivery' | 'dueAtMs' | 'leadMs'>, startedAtMs: number): number {
  return Math.max(0, loggedDueMs(due) - startedAtMs);
}

/**
 * Returns when a replay of the delivery begins, in epoch milliseconds: never before the times that its log already
 * shows.
 * @param lastAttemptEndMs `null` before the first attempt
 */
export function replayAtMs(nowMs: number, createdAtMs: number, lastAttemptEndMs: number | null): number {
  return Math.max(nowMs, createdAtMs, lastAttemptEndMs ?? 0);
}
