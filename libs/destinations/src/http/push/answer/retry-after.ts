const SECONDS = /^\d+$/;
/** The three forms of an HTTP date (RFC 9110, 5.6.7): the preferred one, RFC 850 and asctime. `Date.parse` also reads what is none. */
const FORMS = [
  /^[A-Z][a-z]{2}, (?<day>\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/,
  /^[A-Z][a-z]{5,8}, (?<day>\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/,
  /^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<time>\d{2}:\d{2}:\d{2}) (?<year>\d{4})$/,
];
/** A year of two digits that is more than this ahead is the one of the century before. */
const MOST_YEARS_AHEAD = 50;

/**
 * Reads `Retry-After` (RFC 9110, 10.2.3).
 * @param nowMs the time to which a date is compared, in epoch milliseconds
 * @returns how long to wait, milliseconds; `undefined` without a valid header
 */
export function retryAfterMs(header: string | readonly string[] | undefined, nowMs: number): number | undefined {
  if (typeof header !== 'string') return undefined;
  const text = header.trim();
  if (SECONDS.test(text)) return Math.min(Number(text) * 1_000, Number.MAX_SAFE_INTEGER);
  const atMs = dateIn(text, nowMs);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

/** @returns epoch milliseconds, `NaN` if the text is no HTTP date */
function dateIn(text: string, nowMs: number): number {
  const groups = FORMS.map((form) => form.exec(text)?.groups).find((found) => found !== undefined);
  if (groups === undefined) return NaN;
  const { day = '', month = '', year = '', time = '' } = groups;
  return Date.parse(`${day.trim()} ${month} ${year.length === 2 ? fullYear(Number(year), nowMs) : year} ${time} GMT`);
}

function fullYear(year: number, nowMs: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear();
  const inCentury = thisYear - (thisYear % 100) + year;
  return inCentury > thisYear + MOST_YEARS_AHEAD ? inCentury - 100 : inCentury;
}
