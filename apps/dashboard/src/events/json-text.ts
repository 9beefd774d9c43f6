/**
 * Spaces JSON for reading. It adds only white space: parsing and printing would change numbers such as `1.0` or
 * `12345678901234567890`.
 */
export function spacedJson(raw: string): string {
  let text = '';
  let depth = 0;
  let isEmpty = false;
  for (const [token] of raw.matchAll(/"(?:[^"\\]|\\.)*"|[^\s{}[\],:"]+|[{}[\],:]/gs)) {
    const isEnd = token === '}' || token === ']';
    if (isEnd) depth--;
    // The written text is never read again: it may be long, and have many lists.
    if (isEmpty !== isEnd) text += lineAt(depth);
    isEmpty = false;
    switch (token) {
      case '{':
      case '[':
        depth++;
        isEmpty = true;
        text += token;
        break;
      case ',':
        text += `,${lineAt(depth)}`;
        break;
      case ':':
        text += ': ';
        break;
      default:
        text += token;
    }
  }
  return text;
}

function lineAt(depth: number): string {
  return `\n${'  '.repeat(Math.max(0, depth))}`;
}

/** A piece of JSON text, and its kind. Together the pieces are the whole text. */
export interface JsonPiece {
  readonly kind: 'name' | 'string' | 'number' | 'word' | 'plain';
  readonly text: string;
}

export function jsonPieces(json: string): readonly JsonPiece[] {
  const pieces = json.matchAll(
    /(?<name>"(?:[^"\\]|\\.)*")(?=\s*:)|(?<string>"(?:[^"\\]|\\.)*")|(?<number>-?\d[\d.eE+-]*)|(?<word>true|false|null)|[^"\d\w-]+|./gs,
  );
  return [...pieces].map(({ 0: text, groups = {} }) => {
    const kinds = ['name', 'string', 'number', 'word'] as const;
    return { kind: kinds.find((kind) => groups[kind] !== undefined) ?? 'plain', text };
  });
}
