import { randomBytes } from 'node:crypto';

const SECRET_BYTES = 32;

/** A new signing secret (contract 2.2). */
export function newSigningSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}
