import { randomBytes } from 'node:crypto';

const SECRET_BYTES = 32;

/** A new signing secret (decisions, section 1). */
export function newSigningSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}
