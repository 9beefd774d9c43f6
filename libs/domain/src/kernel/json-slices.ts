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
const COLON = 0x3a;
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

/** The text is not JSON. */
export class JsonTextError extends Error {
  override readonly name = 'JsonTextError';
}

function expectCode(json: string, at: number, code: number): number {
  if (json.charCodeAt(at) !== code) throw new JsonTextError(`another character is expected at ${at}`);
  return skipSpace(json, at + 1);
}

/** Returns the index after the value at `at`, which is not checked itself. */
function checkedEnd(json: string, at: number): number {
  let end: number;
  try {
    end = skipValue(json, at);
  } catch {
    throw new JsonTextError('a value does not end');
  }
  if (end === at) throw new JsonTextError(`a value is expected at ${at}`);
  return end;
}

/** Calls `item` at the beginning of each item up to `close`, and at most so often. @returns whether it saw all of them */
function eachItem(json: string, open: number, close: number, most: number, item: (at: number) => number): boolean {
  let at = skipSpace(json, open + 1);
  for (let count = 0; json.charCodeAt(at) !== close || count > 0; count++) {
    if (count >= most) return false;
    at = skipSpace(json, item(at));
    if (json.charCodeAt(at) === close) break;
    at = expectCode(json, at, COMMA);
  }
  const end = skipSpace(json, at + 1);
  if (end < json.length) throw new JsonTextError(`nothing is expected at ${end}`);
  return true;
}

/** Parts of a text that may be no JSON. Everything but the parts is checked, so it is JSON exactly if all of them are. */
export interface UncheckedParts<Part> {
  readonly parts: readonly Part[];
  /** False if there are more, of which nothing was checked. */
  readonly isAll: boolean;
}

/**
 * Returns the members of an object in their order, with repeats, and at most so many; `undefined` if the text begins no object.
 * @throws JsonTextError
 */
export function uncheckedMembers(
  json: string,
  most: number,
): UncheckedParts<{ readonly name: string; readonly text: string }> | undefined {
  const parts: { readonly name: string; readonly text: string }[] = [];
  const start = skipSpace(json, 0);
  if (json.charCodeAt(start) !== OPEN_BRACE) return undefined;
  const isAll = eachItem(json, start, CLOSE_BRACE, most, (at) => {
    if (json.charCodeAt(at) !== QUOTE) throw new JsonTextError(`a name is expected at ${at}`);
    const nameEnd = checkedEnd(json, at);
    const valueAt = expectCode(json, skipSpace(json, nameEnd), COLON);
    const valueEnd = checkedEnd(json, valueAt);
    parts.push({ name: nameIn(json.slice(at, nameEnd)), text: json.slice(valueAt, valueEnd) });
    return valueEnd;
  });
  return { parts, isAll };
}

function nameIn(literal: string): string {
  try {
    return JSON.parse(literal) as string;
  } catch (cause) {
    throw new JsonTextError('a name is no text', { cause });
  }
}

/**
 * Returns the texts of an array's elements, and at most so many; `undefined` if the text begins no array.
 * @throws JsonTextError
 */
export function uncheckedElements(json: string, most: number): UncheckedParts<string> | undefined {
  const parts: string[] = [];
  if (json.charCodeAt(0) !== OPEN_BRACKET) return undefined;
  const isAll = eachItem(json, 0, CLOSE_BRACKET, most, (at) => {
    const end = checkedEnd(json, at);
    parts.push(json.slice(at, end));
    return end;
  });
  return { parts, isAll };
}
