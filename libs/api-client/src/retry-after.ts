/** The longest wait that a server may ask for. */
const MAX_MS = 600_000;

/**
 * Returns the wait that `Retry-After` asks for (RFC 9110, 10.2.3), milliseconds; `undefined` if the header is missing
 * or invalid.
 * @param date the answer's `Date` header: the server's clock, from which the wait until a given time is computed
 */
export function retryAfterMs(header: unknown, date: unknown): number | undefined {
  if (typeof header !== 'string') return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.parse(String(date));
  return ms >= 0 ? Math.min(ms, MAX_MS) : undefined;
}
