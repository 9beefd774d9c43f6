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

const IN_HTML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Returns the text as it is, in JSON, in HTML and in a URL. */
function formsOf(text: string): readonly string[] {
  const json = JSON.stringify(text).slice(1, -1);
  const html = text.replace(/[&<>"]/g, (character) => IN_HTML[character] ?? character);
  const apostrophes = ['&#39;', '&#039;', '&#x27;'].map((escaped) => html.replaceAll("'", escaped));
  return [text, json, json.replaceAll('/', String.raw`\/`), html, ...apostrophes, encodeURIComponent(text)];
}

/**
 * A character as JSON may write it, such as `\u002B` for `+`, or with two backslashes in JSON within JSON. It is looked for
 * at the first of several backslashes only: an answer of backslashes would be slow to search otherwise.
 */
const ESCAPE = /(?<!\\)((?:\\\\)*)\\{1,2}u((?!00[01])[0-9a-f]{4})/gi;
/** Where the text breaks off within an escape, or within the bytes of a character. */
const CUT_CHARACTER = /(?:\ufffd|(?<!\\)\\+(?:u[0-9a-f]{0,3})?)$/i;

/** Returns the text with only those escapes that JSON requires. Libraries add different ones: .NET even for `+`. */
function unescaped(text: string): string {
  return text.replace(ESCAPE, (_escape, backslashes: string, code: string) => {
    const character = String.fromCharCode(parseInt(code, 16));
    return backslashes + (character === '"' || character === '\\' ? `\\${character}` : character);
  });
}

/**
 * Returns the text without these secrets. A text in which it hides one is shown without needless escapes.
 * @param secrets the longest first
 * @param isCut whether the text may end within one, of which any start is then hidden, too
 */
export function withoutSecrets(text: string, secrets: readonly string[], isCut: boolean): string {
  const plain = unescaped(text);
  const whole = secrets.reduce((shown, secret) => shown.replaceAll(secret, HIDDEN), plain);
  const complete = whole.replace(CUT_CHARACTER, '');
  const shortest = isCut ? 1 : SHORTEST;
  const started = Math.max(0, ...secrets.map((secret) => lengthOfStart(complete, secret)));
  if (started >= shortest) return complete.slice(0, -started) + HIDDEN;
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
