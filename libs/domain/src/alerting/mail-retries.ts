const FIRST_WAIT_MS = 10_000;
const LONGEST_WAIT_MS = 300_000;
/** About an hour in all. After that, the alert is too old to be useful. */
const MAX_ATTEMPTS = 16;

/** Returns the wait after the nth failed attempt to send an alert's mail, or `undefined` to give up. */
export function mailRetryDelayMs(attempt: number): number | undefined {
  if (attempt >= MAX_ATTEMPTS) return undefined;
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1));
}
