/** Stands for a secret in an excerpt. It is not longer than the shortest text that it stands for. */
const HIDDEN = '[hidden]';
/** Shorter values are in many texts by chance, such as `1` or `prod`. Nobody could read an excerpt without them. */
const SHORTEST = HIDDEN.length;
/** A signature in a header: hexadecimal or base64. The rest of the header, such as the time, is no secret. */
const SIGNATURE = /[\w+/-]{32,}/g;

/** Which headers of a push are secret, by their names in lower case. */
export interface SecretHeaders {
  readonly signatures: readonly string[];
  /** The headers whose whole values are secret. */
  readonly values: readonly string[];
}

/** Returns the texts that no excerpt may repeat, the longest first. */
export function sentSecrets(sent: Readonly<Record<string, string>>, secret: SecretHeaders): readonly string[] {
  const texts = [
    ...secret.signatures.flatMap((name) => sent[name]?.match(SIGNATURE) ?? []),
    ...secret.values.flatMap((name) => valuesIn(name, sent[name] ?? '')),
  ];
  const forms = new Set(
    texts
      .filter(({ length }) => length >= SHORTEST)
      .flatMap(formsOf)
      .map(unescaped),
  );
  return [...forms].sort((one, other) => other.length - one.length);
}

/** Returns the value, and the parts of it that servers show alone. */
function valuesIn(name: string, value: string): readonly string[] {
  if (name !== 'authorization') return [value];
  const [scheme = '', ...rest] = value.split(' ');
  const credentials = rest.join(' ');
  if (scheme.toLowerCase() !== 'basic') return [value, credentials];
  const pair = Buffer.from(credentials, 'base64').toString();
  return [value, credentials, pair, pair.slice(pair.indexOf(':') + 1)];
}

/** Returns the text as it is, in JSON and in a URL. In HTML it has references, which are not looked for as they are. */
function formsOf(text: string): readonly string[] {
  const json = JSON.stringify(text).slice(1, -1);
  return [text, json, json.replaceAll('/', String.raw`\/`), encodeURIComponent(text)];
}

/**
 * A character as JSON may write it, such as `\u002B` for `+`, or with two backslashes in JSON within JSON. It is looked for
 * at the first of several backslashes only: an answer of backslashes would be slow to search otherwise.
 */
const ESCAPE = /(?<!\\)((?:\\\\)*)\\{1,2}u((?!00[01])[0-9a-f]{4})/gi;
/** A character as HTML may write it, such as `&#x2B;` or `&#43;` for `+`. */
const REFERENCE = /&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|([a-z]{2,6}));/gi;
const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  plus: '+',
  sol: '/',
  equals: '=',
};
/** Where the text breaks off within an escape, a reference, or the bytes of a character. */
const CUT_CHARACTER = /(?:\ufffd|(?<!\\)\\+(?:u[0-9a-f]{0,3})?|&(?:#x?)?[0-9a-z]{0,7})$/i;

/**
 * Returns the text with only those escapes that JSON requires, and without references of HTML. Libraries escape
 * different characters: those of .NET even `+`.
 */
function unescaped(text: string): string {
  const ofJson = text.replace(ESCAPE, (_escape, backslashes: string, code: string) => {
    const character = String.fromCharCode(parseInt(code, 16));
    return backslashes + (character === '"' || character === '\\' ? `\\${character}` : character);
  });
  return ofJson.replace(REFERENCE, (reference, hexadecimal?: string, decimal?: string, name = '') => {
    const code = hexadecimal === undefined ? Number(decimal) : parseInt(hexadecimal, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : (NAMED[String(name).toLowerCase()] ?? reference);
  });
}

/**
 * Returns the text without these secrets. A text in which it hides one is shown without needless escapes and references.
 * @param secrets the longest first
 * @param isCut whether the text may end within one, of which any start is then hidden, too
 */
export function withoutSecrets(text: string, secrets: readonly string[], isCut: boolean): string {
  const plain = unescaped(text);
  const whole = secrets.reduce((shown, secret) => shown.replaceAll(secret, HIDDEN), plain);
  const shortest = isCut ? 1 : SHORTEST;
  const shown = [whole, whole.replace(CUT_CHARACTER, '')].map((end) => {
    const started = Math.max(0, ...secrets.map((secret) => lengthOfStart(end, secret)));
    return started < shortest ? whole.length : end.length - started;
  });
  const length = Math.min(...shown);
  if (length < whole.length) return whole.slice(0, length) + HIDDEN;
  return whole === plain ? text : whole;
}

/**
 * Returns how much of the secret the text ends with. It reads both once (Knuth, Morris and Pratt): endpoints choose their
 * secrets and their answers, and could make other ways slow.
 */
function lengthOfStart(text: string, secret: string): number {
  // For each start of the secret: how much of the secret that start ends with.
  const ends = new Uint16Array(secret.length);
  let matched = 0;
  const read = (character: number) => {
    while (matched > 0 && secret.charCodeAt(matched) !== character) matched = ends[matched - 1] ?? 0;
    if (secret.charCodeAt(matched) === character) matched++;
  };
  for (let at = 1; at < secret.length; at++) {
    read(secret.charCodeAt(at));
    ends[at] = matched;
  }
  matched = 0;
  for (let at = Math.max(0, text.length - secret.length + 1); at < text.length; at++) read(text.charCodeAt(at));
  return matched;
}
