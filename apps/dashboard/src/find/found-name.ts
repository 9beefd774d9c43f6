/** What the text of a search names. */
export type FoundName =
  | { readonly kind: 'event'; readonly id: string }
  | { readonly kind: 'seq'; readonly seq: number }
  | { readonly kind: 'delivery'; readonly id: string }
  | { readonly kind: 'endpoint'; readonly id: string }
  | { readonly kind: 'recovery'; readonly id: string }
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

/** Reads a search. An id is found in text around it, such as a line of a log; a seq may have separators. */
export function foundName(search: string): FoundName {
  const [id, prefix] = PREFIXED.exec(search) ?? [];
  const kind = KINDS[prefix ?? ''];
  if (id !== undefined && kind !== undefined) return { kind, id };
  const text = search.trim();
  const seq = Number(SEQ.exec(text)?.[1]?.replaceAll(/\D/g, ''));
  if (Number.isSafeInteger(seq) && seq > 0) return { kind: 'seq', seq };
  return text === '' ? { kind: 'nothing' } : { kind: 'text', text };
}
