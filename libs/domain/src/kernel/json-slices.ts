/**
 * Finds the members of a JSON text, so that a payload is kept as it was sent. Parsing and printing it again would
 * change number spellings, precision and member order.
 *
 * Both functions require text that `JSON.parse` accepts as an object or an array, because the scanner only finds where
 * values end. It runs for every event, so it compares character codes and creates no text but the slices.
 */

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

function isSpace(code: number): boolean {
  return code === SPACE || code === LINE_FEED || code === CARRIAGE_RETURN || code === TAB;
}

function skipSpace(json: string, at: number): number {
  let i = at;
  while (isSpace(json.charCodeAt(i))) i++;
  return i;
}

/** Returns the index after the string that opens at `at`. */
function skipString(json: string, at: number): number {
  // The engine's own search for the closing quote is far faster than a loop here. A quote after an odd number of
  // backslashes belongs to the string.
  for (let quote = json.indexOf('"', at + 1); quote !== -1; quote = json.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (json.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
  throw new RangeError('unterminated string');
}

/** Returns the index after the number, `true`, `false` or `null` that begins at `at`. */
function skipScalar(json: string, at: number): number {
  for (let i = at; i < json.length; i++) {
    const code = json.charCodeAt(i);
    if (code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || isSpace(code)) return i;
  }
  return json.length;
}

/** Returns the index after the object or array that opens at `at`. */
function skipContainer(json: string, at: number): number {
  let depth = 0;
  for (let i = at; i < json.length; i++) {
    const code = json.charCodeAt(i);
    if (code === QUOTE) i = skipString(json, i) - 1;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && --depth === 0) return i + 1;
  }
  throw new RangeError('unterminated value');
}

/** Returns the index after the value that begins at `at`. */
function skipValue(json: string, at: number): number {
  switch (json.charCodeAt(at)) {
    case QUOTE:
      return skipString(json, at);
    case OPEN_BRACE:
    case OPEN_BRACKET:
      return skipContainer(json, at);
    default:
      return skipScalar(json, at);
  }
}

/** Returns the index of the next member or element: after the comma, if there is one. */
function skipComma(json: string, at: number): number {
  const i = skipSpace(json, at);
  return json.charCodeAt(i) === COMMA ? skipSpace(json, i + 1) : i;
}

/** Returns the text of a string literal. */
function unquote(literal: string): string {
  return literal.includes('\\') ? (JSON.parse(literal) as string) : literal.slice(1, -1);
}

/**
 * Returns the raw text of each member of the object. Of members with the same name the last counts, as in `JSON.parse`.
 */
export function memberSlices(json: string): ReadonlyMap<string, string> {
  const slices = new Map<string, string>();
  let at = skipSpace(json, skipSpace(json, 0) + 1);
  while (json.charCodeAt(at) === QUOTE) {
    const nameEnd = skipString(json, at);
    const name = unquote(json.slice(at, nameEnd));
    const start = skipSpace(json, skipSpace(json, nameEnd) + 1);
    const end = skipValue(json, start);
    slices.set(name, json.slice(start, end));
    at = skipComma(json, end);
  }
  return slices;
}

/** Returns the raw text of each element of the array. */
export function elementSlices(json: string): readonly string[] {
  const slices: string[] = [];
  let at = skipSpace(json, skipSpace(json, 0) + 1);
  while (at < json.length && json.charCodeAt(at) !== CLOSE_BRACKET) {
    const end = skipValue(json, at);
    slices.push(json.slice(at, end));
    at = skipComma(json, end);
  }
  return slices;
}
