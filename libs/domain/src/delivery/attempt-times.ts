import type { DueAttempt } from './attempt.js';

/**
 * Returns how far an attempt's times in the delivery log are ahead of its dispatcher's clock, milliseconds; 0 while all
 * clocks agree. The log never shows an attempt before its delivery was created, or before it was due. Those times come
 * from other clocks: the broker's, and another dispatcher's or the api's. Retries and signatures use the dispatcher's
 * clock, so that a wrong clock elsewhere neither delays nor breaks them.
 */
export function attemptLeadMs(due: Pick<DueAttempt, 'delivery' | 'dueAtMs' | 'leadMs'>, startedAtMs: number): number {
  const notBeforeMs = Math.max(due.delivery.createdAtMs, due.dueAtMs + (due.leadMs ?? 0));
  return Math.max(0, notBeforeMs - startedAtMs);
}

/**
 * Returns when a replay of the delivery begins, in epoch milliseconds: never before the times that its log already
 * shows.
 * @param lastAttemptEndMs `null` before the first attempt
 */
export function replayAtMs(nowMs: number, createdAtMs: number, lastAttemptEndMs: number | null): number {
  return Math.max(nowMs, createdAtMs, lastAttemptEndMs ?? 0);
}
