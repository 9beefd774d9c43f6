const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

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
 * Returns the index at which objects and arrays first nest more than `limit` levels deep; -1 if they do not. Works for any
 * text, JSON or not. Call it before parsing, because `JSON.parse` takes most of a second for a few megabytes of brackets.
 */
export function tooDeepAt(text: string, limit: number): number {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = stringEnd(text, i);
    // The codes of [ and { and of ] and } differ in one bit.
    else if ((code | 0x20) === 0x7b && ++depth > limit) return i;
    else if ((code | 0x20) === 0x7d) depth--;
  }
  return -1;
}

/** Returns the index of the element in which the text ends, in the first array on this level; -1 if the array has ended. */
export function elementOnLevel(text: string, level: number): number {
  let [depth, commas] = [0, 0];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = stringEnd(text, i);
    else if ((code | 0x20) === 0x7b) depth++;
    else if ((code | 0x20) === 0x7d) {
      if (depth-- === level) return -1;
    } else if (code === COMMA && depth === level) commas++;
  }
  return commas;
}
