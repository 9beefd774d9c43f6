/** What was searched for, in the address of the page. */
export interface FindSearch {
  readonly q?: string;
}

/** Reads the parameter of an address. Digits alone are read as a number. */
export function parseFindSearch({ q }: Record<string, unknown>): FindSearch {
  return typeof q === 'string' || typeof q === 'number' ? { q: String(q) } : {};
}
