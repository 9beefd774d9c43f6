/** The longest part of a member name that is repeated in the answer. */
const MAX_NAME_LENGTH = 64;

/**
 * Returns the JSON Pointer (RFC 6901, fragment form) of a member whose name the caller chose. The name is escaped,
 * percent-encoded, and cut to fit into an answer or a record header.
 */
export function memberPointer(parent: string, name: string): string {
  // encodeURIComponent throws on lone surrogates, because they have no UTF-8 form.
  const wellFormed = name.slice(0, MAX_NAME_LENGTH).replaceAll(/\p{Surrogate}/gu, '\ufffd');
  return `${parent}/${encodeURIComponent(wellFormed.replaceAll('~', '~0').replaceAll('/', '~1'))}`;
}
