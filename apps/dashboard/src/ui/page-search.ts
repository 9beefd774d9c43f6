/** The page of a list in the address: the cursors of the pages up to it. */
export interface PageSearch {
  readonly after?: string;
}

const SEPARATOR = '~';
/** Addresses have a limit. Nobody turns this many pages. */
const MAX_PAGES = 40;

/** Reads the parameter of an address, and ignores an invalid one. */
export function parsePageSearch({ after }: Record<string, unknown>): PageSearch {
  // A cursor of digits alone is read as a number.
  const text = typeof after === 'number' ? String(after) : after;
  return typeof text === 'string' && text !== '' ? { after: text } : {};
}

/** Returns the cursor of the page; `undefined` for the first one. */
export function cursorOf({ after }: PageSearch): string | undefined {
  return after?.split(SEPARATOR).at(-1);
}

export function pageNumberOf({ after }: PageSearch): number {
  return after === undefined ? 1 : after.split(SEPARATOR).length + 1;
}

/** Returns the `after` of the following page. */
export function olderPage({ after }: PageSearch, nextCursor: string): string {
  const cursors = after === undefined ? [] : after.split(SEPARATOR);
  return [...cursors, nextCursor].slice(-MAX_PAGES).join(SEPARATOR);
}

/** Returns the `after` of the page before; `undefined` for the first one. */
export function newerPage({ after }: PageSearch): string | undefined {
  const cursors = after?.split(SEPARATOR).slice(0, -1) ?? [];
  return cursors.length === 0 ? undefined : cursors.join(SEPARATOR);
}
