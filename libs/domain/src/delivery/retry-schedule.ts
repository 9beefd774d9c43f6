/** Delays in milliseconds: entry n-1 is the wait before the n-th retry, and the delay of retry tier n (contract 9). */
export type RetrySchedule = readonly number[];

/**
 * Returns when the next retry is due, and in which tier it waits; `null` once all retries are used.
 * @param attempt the number of the failed attempt, from 1
 * @param endedAtMs when the failed attempt ended, in epoch milliseconds
 */
export function retryAfter(
  schedule: RetrySchedule,
  attempt: number,
  endedAtMs: number,
): { readonly tier: number; readonly dueAtMs: number } | null {
  const delayMs = schedule[attempt - 1];
  return delayMs === undefined ? null : { tier: attempt, dueAtMs: endedAtMs + delayMs };
}
