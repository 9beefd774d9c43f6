const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Whether the quote at `at` ends a string: the number of backslashes before it is even. */
function endsString(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
  return backslashes % 2 === 0;
}

/** Returns the index of the quote that ends the string opened at `at`; the text's length if there is none. */
function stringEnd(text: string, at: number): number {
  let quote = text.indexOf('"', at + 1);
  while (quote !== -1 && !endsString(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote === -1 ? text.length : quote;
}

/**
 * Whether objects and arrays nest more than `limit` levels deep. Works for any text, JSON or not. Call it before
 * parsing, because `JSON.parse` takes most of a second for a few megabytes of brackets.
 */
export function nestsDeeperThan(text: string, limit: number): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = stringEnd(text, i);
    // The codes of [ and { and of ] and } differ in one bit.
    else if ((code | 0x20) === 0x7b && ++depth > limit) return true;
    else if ((code | 0x20) === 0x7d) depth--;
  }
  return false;
}
