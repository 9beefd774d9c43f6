import { withoutSecrets } from './sent-secrets.js';

/** The longest excerpt, in bytes of UTF-8. */
export const MAX_EXCERPT_BYTES = 1024;

const decoder = new TextDecoder('utf-8');
/**
 * All control characters except tab and line feed. PostgreSQL stores no NUL, and the others would upset a terminal.
 * Marks that change the direction of writing are included, because they can disguise a text. Half a surrogate pair,
 * which JSON can escape alone, cannot be stored.
 */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\p{Surrogate}]/gu;

/** Returns the longest start of the text that an excerpt may have, cut between characters. */
function cut(text: string): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= MAX_EXCERPT_BYTES) return text;
  let end = MAX_EXCERPT_BYTES;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

/**
 * Returns the start of a response body as text that is safe to show and store. Control characters and invalid UTF-8
 * become U+FFFD. A compressed body is not unpacked.
 * @param secrets texts that it does not show, the longest first
 */
export function responseExcerpt(chunks: readonly Buffer[], secrets: readonly string[] = []): string {
  if (chunks.length === 0) return '';
  const bytes = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
  // Take four more bytes than fit, so that the character at the cut is complete when it is dropped.
  const text = decoder.decode(bytes.subarray(0, MAX_EXCERPT_BYTES + 4)).replaceAll('\r\n', '\n');
  const isCut = bytes.length >= MAX_EXCERPT_BYTES;
  return cut(withoutSecrets(text, secrets, isCut).replace(CONTROLS, '\ufffd'));
}

/** Returns a whole response body as text, without a byte order mark. Invalid UTF-8 becomes U+FFFD. */
export function responseText(chunks: readonly Buffer[]): string {
  return decoder.decode(Buffer.concat(chunks));
}
