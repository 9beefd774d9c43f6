import type { DueAttempt } from './attempt.js';

/**
 * How far the times that the delivery log shows for an attempt are ahead of its dispatcher's clock, in milliseconds; 0
 * while all clocks agree. The log never shows an attempt before its delivery was created, or before it was due: the
 * broker's clock made the first of these times, another dispatcher's or the api's clock the second. Retries are due by
 * the dispatcher's clock and signatures are stamped with it, so that a wrong clock elsewhere delays and spoils nothing.
 */
export function attemptLeadMs(due: Pick<DueAttempt, 'delivery' | 'dueAtMs' | 'leadMs'>, startedAtMs: number): number {
  const notBeforeMs = Math.max(due.delivery.createdAtMs, due.dueAtMs + (due.leadMs ?? 0));
  return Math.max(0, notBeforeMs - startedAtMs);
}

/**
 * When a delivery begins another run: not before anything that its log already shows.
 * @param lastAttemptEndMs `null` before the first attempt
 */
export function replayAtMs(nowMs: number, createdAtMs: number, lastAttemptEndMs: number | null): number {
  return Math.max(nowMs, createdAtMs, lastAttemptEndMs ?? 0);
}
