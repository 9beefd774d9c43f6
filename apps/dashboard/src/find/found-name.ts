/** What the text of a search names. */
export type FoundName =
  | { readonly kind: 'event'; readonly id: string }
  | { readonly kind: 'seq'; readonly seq: number }
  | { readonly kind: 'delivery'; readonly id: string }
  | { readonly kind: 'endpoint'; readonly id: string }
  | { readonly kind: 'recovery'; readonly id: string }
  /** Digits alone: the seq of an event, the id of a chat or part of a name. */
  | { readonly kind: 'number'; readonly seq: number; readonly text: string }
  /** Part of a name, or the id of a chat: products choose those. */
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'nothing' };

const PREFIXED = /(evt|whd|whe|rec)_[0-9A-Za-z]{16,64}/;
const KINDS: Readonly<Record<string, 'event' | 'delivery' | 'endpoint' | 'recovery'>> = {
  evt: 'event',
  whd: 'delivery',
  whe: 'endpoint',
  rec: 'recovery',
};
const SEQ = /^#?\s*(\d[\d.,\s]*)$/;
/** Such as in an IP address or a version. */
const HAS_DOTS = /\..*\./;

/**
 * Reads a search. An id is found in text around it, such as a line of a log; a seq may have separators. Only `#` makes it
 * clear that a number is a seq.
 */
export function foundName(search: string): FoundName {
  const [id, prefix] = PREFIXED.exec(search) ?? [];
  const kind = KINDS[prefix ?? ''];
  if (id !== undefined && kind !== undefined) return { kind, id };
  const text = search.trim();
  const seq = Number(SEQ.exec(text)?.[1]?.replaceAll(/\D/g, ''));
  if (Number.isSafeInteger(seq) && seq > 0) {
    if (text.startsWith('#')) return { kind: 'seq', seq };
    if (!HAS_DOTS.test(text)) return { kind: 'number', seq, text };
  }
  return text === '' ? { kind: 'nothing' } : { kind: 'text', text };
}
