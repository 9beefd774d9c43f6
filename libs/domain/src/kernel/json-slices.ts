/**
 * Where the members of a JSON text stand, so that a payload can be kept as it was sent: parsing and printing it again
 * would change number spellings, precision and member order.
 *
 * Both functions require text that `JSON.parse` accepts; the scanner only has to find where values end.
 */

const SPACE = /[ \t\n\r]/;

function skipSpace(json: string, at: number): number {
  while (at < json.length && SPACE.test(json.charAt(at))) at++;
  return at;
}

/** The index behind the string that opens at `at`. */
function skipString(json: string, at: number): number {
  for (let i = at + 1; i < json.length; i++) {
    const code = json.charCodeAt(i);
    if (code === 0x5c) i++;
    else if (code === 0x22) return i + 1;
  }
  throw new RangeError('unterminated string');
}

/** The index behind the value that begins at `at`. */
function skipValue(json: string, at: number): number {
  const first = json.charCodeAt(at);
  if (first === 0x22) return skipString(json, at);
  if (first !== 0x7b && first !== 0x5b) {
    let i = at;
    while (i < json.length && !/[,\]} \t\n\r]/.test(json.charAt(i))) i++;
    return i;
  }
  let depth = 0;
  for (let i = at; i < json.length; i++) {
    const code = json.charCodeAt(i);
    if (code === 0x22) i = skipString(json, i) - 1;
    else if (code === 0x7b || code === 0x5b) depth++;
    else if (code === 0x7d || code === 0x5d) {
      depth--;
      if (depth === 0) return i + 1;
    }
  }
  throw new RangeError('unterminated value');
}

/** The raw text of each member of the object; of members of the same name the last counts, as in `JSON.parse`. */
export function memberSlices(json: string): ReadonlyMap<string, string> {
  const slices = new Map<string, string>();
  let at = skipSpace(json, skipSpace(json, 0) + 1);
  while (json.charCodeAt(at) === 0x22) {
    const nameEnd = skipString(json, at);
    const name = JSON.parse(json.slice(at, nameEnd)) as string;
    const start = skipSpace(json, skipSpace(json, nameEnd) + 1);
    const end = skipValue(json, start);
    slices.set(name, json.slice(start, end));
    at = skipSpace(json, end);
    if (json.charCodeAt(at) === 0x2c) at = skipSpace(json, at + 1);
  }
  return slices;
}

/** The raw text of each element of the array. */
export function elementSlices(json: string): readonly string[] {
  const slices: string[] = [];
  let at = skipSpace(json, skipSpace(json, 0) + 1);
  while (at < json.length && json.charCodeAt(at) !== 0x5d) {
    const end = skipValue(json, at);
    slices.push(json.slice(at, end));
    at = skipSpace(json, end);
    if (json.charCodeAt(at) === 0x2c) at = skipSpace(json, at + 1);
  }
  return slices;
}
