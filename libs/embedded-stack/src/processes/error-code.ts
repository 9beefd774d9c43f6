/** Returns the `code` of an error of Node or Postgres (`EEXIST`, `28P01`); empty if it has none. */
export function errorCode(error: unknown): string {
  // Check the member, not the class: under jest, Node's own errors are instances of another realm's Error.
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}
