/**
 * Returns until when every partition was swept in time, epoch milliseconds. It follows the clock, however rare the
 * sweeps are, and stands still once a partition's next sweep is overdue.
 * @param sweptAt when each partition was last swept, epoch milliseconds
 */
export function sweptInTimeUntil(sweptAt: Iterable<number>, everyMs: number, nowMs: number): number {
  return Math.min(nowMs, Math.min(...sweptAt) + everyMs);
}
