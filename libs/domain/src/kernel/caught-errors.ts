/** Returns the message of what was caught; its name if the message is empty, as that of an AggregateError can be. */
export function messageOf(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : String(error);
}

/** Returns the `code` of an error of Node, undici or Postgres (`ECONNREFUSED`, `28P01`); empty if it has none. */
export function errorCode(error: unknown): string {
  // Check the member, not the class: under jest, Node's own errors are instances of another realm's Error.
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : '';
}
