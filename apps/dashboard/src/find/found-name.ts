/** What the text of a search names. */
export type FoundName =
  | { readonly kind: 'event'; readonly id: string }
  | { readonly kind: 'seq'; readonly seq: number }
  | { readonly kind: 'delivery'; readonly id: string }
  | { readonly kind: 'endpoint'; readonly id: string }
  | { readonly kind: 'nothing' };

const PREFIXED = /(evt|whd|whe)_[0-9A-Za-z]{16,64}/;
const SEQ = /^#?\s*(\d[\d.,\s]*)$/;

/** Reads a search. An id is found in text around it, such as a line of a log; a seq may have separators. */
export function foundName(search: string): FoundName {
  const [id, prefix] = PREFIXED.exec(search) ?? [];
  if (id !== undefined) {
    return { kind: prefix === 'evt' ? 'event' : prefix === 'whd' ? 'delivery' : 'endpoint', id };
  }
  const seq = Number(SEQ.exec(search.trim())?.[1]?.replaceAll(/\D/g, ''));
  return Number.isSafeInteger(seq) && seq > 0 ? { kind: 'seq', seq } : { kind: 'nothing' };
}
