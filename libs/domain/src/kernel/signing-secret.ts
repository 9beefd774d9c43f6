const SECRET = /^whsec_([A-Za-z0-9+/]+)(={0,2})$/;
const MIN_BYTES = 24;
const MAX_BYTES = 64;

/** Whether the text is a secret of Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes. */
export function isSigningSecret(text: string): boolean {
  const [, digits = ''] = SECRET.exec(text) ?? [];
  const bytes = Buffer.from(digits, 'base64');
  // Each secret has one spelling, and one that is cut in the middle of a byte is none.
  if (bytes.toString('base64').replace(/=+$/, '') !== digits) return false;
  return bytes.length >= MIN_BYTES && bytes.length <= MAX_BYTES;
}
