/** Returns the `code` of an error of Node or undici (`ECONNREFUSED`); empty if it has none. */
export function errorCode(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : '';
}
