const FIRST_WAIT_MS = 10_000;
const LONGEST_WAIT_MS = 300_000;
/** In all about an hour: that nobody has answered is no news behind it. */
const MAX_ATTEMPTS = 16;

/** How long to wait behind the nth failed attempt to send an alert's mail; `undefined`: it is given up. */
export function mailRetryDelayMs(attempt: number): number | undefined {
  if (attempt >= MAX_ATTEMPTS) return undefined;
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1));
}
