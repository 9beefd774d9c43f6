import axios, { type AxiosInstance } from 'axios';
import type { GaplessEvent } from '../../../event-types/src/index.js';

const START = /^\s*\{\s*"data"\s*:\s*\[/;

/**
 * Returns the JSON text of each element of `data` in a page of the feed, unchanged; `undefined` if the text has another
 * form.
 */
export function elementsOf(page: string): readonly string[] | undefined {
  const begin = START.exec(page)?.[0].length;
  if (begin === undefined) return undefined;
  const elements: string[] = [];
  let depth = 0;
  let inString = false;
  let from = begin;
  for (let at = begin; at < page.length; at++) {
    const char = page[at];
    if (inString) {
      if (char === '\\') at++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === '{' || char === '[') depth++;
    else if (depth === 0 && (char === ',' || char === ']')) {
      const element = page.slice(from, at).trim();
      if (element !== '') elements.push(element);
      if (char === ']') return elements;
      from = at + 1;
    } else if (char === '}' || char === ']') depth--;
  }
  return undefined;
}

/** Remembers the text of each event that a `FeedClient` reads, because pushes are signed over the stored bytes. */
export class RawEvents {
  /** Pass it to the `FeedClient`. */
  readonly http: AxiosInstance;
  readonly #texts = new WeakMap<object, string>();

  constructor() {
    this.http = axios.create({ responseType: 'text', transformResponse: [(text: unknown) => this.#read(text)] });
  }

  /** Returns the bytes of an event that was read with `http`. */
  bytesOf(event: GaplessEvent): Buffer {
    return Buffer.from(this.#texts.get(event) ?? JSON.stringify(event));
  }

  #read(text: unknown): unknown {
    if (typeof text !== 'string') return text;
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch {
      // An answer of something else, such as a proxy.
      return text;
    }
    const { data } = (typeof body === 'object' && body !== null ? body : {}) as { readonly data?: unknown };
    if (!Array.isArray(data)) return body;
    const texts = elementsOf(text);
    if (texts?.length !== data.length) return body;
    for (const [index, element] of (data as readonly unknown[]).entries()) {
      if (typeof element === 'object' && element !== null) this.#texts.set(element, texts[index] ?? '');
    }
    return body;
  }
}
