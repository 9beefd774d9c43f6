const PROFILE = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:Z|([+-])(\d{2}):(\d{2}))$/i;
const DAYS_IN_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const MINUTE_MS = 60_000;
// Postgres has no year 0, and the year has four digits.
const EARLIEST_MS = Date.parse('0001-01-01T00:00:00.000Z');
const LATEST_MS = Date.parse('9999-12-31T23:59:59.999Z');

function daysInMonth(year: number, month: number): number {
  const isLeapYear = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return month === 2 && isLeapYear ? 29 : (DAYS_IN_MONTH[month - 1] ?? 0);
}

/** Whether the instant can be printed with a year from 0001 to 9999. */
export function isPrintableInstant(epochMs: number): boolean {
  return Number.isInteger(epochMs) && epochMs >= EARLIEST_MS && epochMs <= LATEST_MS;
}

/**
 * Parses an RFC 3339 timestamp to milliseconds since the Unix epoch; returns undefined for anything else.
 *
 * The profile of ISO 8601: date, `T`, time with seconds, an optional fraction, `Z` or a numeric offset; a real day of
 * the calendar. The fraction is cut, not rounded, to milliseconds. Refused are leap seconds (`:60`) and `24:00`, which
 * name no instant of their own. So are instants outside the years 0001 to 9999.
 */
export function parseTimestamp(text: string): number | undefined {
  const match = PROFILE.exec(text);
  if (match === null) return undefined;
  const [, year = '', month = '', day = '', hour = '', minute = '', second = '', fraction = ''] = match;
  const [sign, offsetHours = '0', offsetMinutes = '0'] = match.slice(8);
  if (Number(day) < 1 || Number(day) > daysInMonth(Number(year), Number(month))) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (Number(offsetHours) > 23 || Number(offsetMinutes) > 59) return undefined;
  const milliseconds = fraction.slice(0, 3).padEnd(3, '0');
  const localMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${milliseconds}Z`);
  const offsetMs = (Number(offsetHours) * 60 + Number(offsetMinutes)) * MINUTE_MS * (sign === '-' ? -1 : 1);
  const epochMs = localMs - offsetMs;
  return isPrintableInstant(epochMs) ? epochMs : undefined;
}
