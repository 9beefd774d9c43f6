/**
 * Milliseconds on the monotonic clock that all processes of a machine share, so that their readings can be compared. Not
 * `performance.now()` and when that began: a process may be held up between reading the one and the other.
 */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
