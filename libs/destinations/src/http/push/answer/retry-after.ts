const SECONDS = /^\d{1,9}$/;
/** An HTTP date in its preferred form (RFC 9110, 5.6.7). `Date.parse` also reads what is none. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Reads `Retry-After` (RFC 9110, 10.2.3).
 * @param nowMs the time to which a date is compared, in epoch milliseconds
 * @returns how long to wait, milliseconds; `undefined` without a valid header
 */
export function retryAfterMs(header: string | readonly string[] | undefined, nowMs: number): number | undefined {
  if (typeof header !== 'string') return undefined;
  const text = header.trim();
  if (SECONDS.test(text)) return Number(text) * 1_000;
  const atMs = HTTP_DATE.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
