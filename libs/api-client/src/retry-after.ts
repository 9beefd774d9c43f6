/** The longest wait that a server may ask for. A timer would accept 24 days. */
const MAX_MS = 600_000;

/**
 * Milliseconds of `Retry-After` (RFC 9110, 10.2.3); `undefined` if there is none that can be read.
 * @param date the answer's `Date`, against which a time is read: the server's clock, not ours
 */
export function retryAfterMs(header: unknown, date: unknown): number | undefined {
  if (typeof header !== 'string') return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.parse(String(date));
  return ms >= 0 ? Math.min(ms, MAX_MS) : undefined;
}
