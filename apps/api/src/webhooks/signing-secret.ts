/** Returns the signing secret of these 32 bytes (contract 2.2). */
export function signingSecret(bytes: Buffer): string {
  return `whsec_${bytes.toString('base64')}`;
}
