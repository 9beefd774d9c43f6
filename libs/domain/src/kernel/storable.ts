/** The end of the year 9999: later days have no tables. */
const LAST_MS = 253_402_300_799_999;
const LAST_INTEGER = 2 ** 31 - 1;

// What columns of Postgres take. Each is for values that another process may have written.

/** Whether it is text without NUL and without half of a surrogate pair, which JSON can hold and `jsonb` cannot. */
export function isStorableText(value: unknown): value is string {
  return typeof value === 'string' && !/[\0\p{Surrogate}]/u.test(value);
}

/** Whether it is a whole number for a column of type `integer`. */
export function isStorableCount(value: unknown, most = LAST_INTEGER): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= most;
}

/** Whether it is a time in whole epoch milliseconds, from 1970 to 9999. */
export function isStorableTime(value: unknown): value is number {
  return isStorableCount(value, LAST_MS);
}
