/**
 * What `performance.now()` is short of the machine's monotonic clock: both read the same clock, one of them from the
 * start of the process on.
 */
const PROCESS_BEGAN_MS = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/** Milliseconds on the monotonic clock that all processes of a machine share, so that their readings can be compared. */
export function monotonicMs(): number {
  return PROCESS_BEGAN_MS + performance.now();
}
