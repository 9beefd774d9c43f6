/** The `code` that Node and Postgres put on their errors (`EEXIST`, `28P01`); empty where there is none. */
export function errorCode(error: unknown): string {
  // By the member, not by the class: under jest Node's own errors are of another realm's Error.
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}
