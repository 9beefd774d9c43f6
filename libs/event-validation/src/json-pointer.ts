/** Longest part of a member name that is repeated to the caller. */
const MAX_NAME_LENGTH = 64;

/**
 * The JSON Pointer (RFC 6901, fragment form) of a member whose name the caller chose: escaped, percent-encoded and cut
 * to a length that an answer or a record header can carry.
 */
export function memberPointer(parent: string, name: string): string {
  // Lone surrogates have no UTF-8 form, so that encodeURIComponent would throw on them.
  const wellFormed = name.slice(0, MAX_NAME_LENGTH).replaceAll(/\p{Surrogate}/gu, '\ufffd');
  return `${parent}/${encodeURIComponent(wellFormed.replaceAll('~', '~0').replaceAll('/', '~1'))}`;
}
