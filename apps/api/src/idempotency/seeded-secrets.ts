import { createHmac, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { SecretCipher } from '#libs/postgres';

const BYTES = 32;

/**
 * Makes the secrets of requests. A request with an `Idempotency-Key` has the same ones at every attempt, so a repeat shows
 * the secret that is in use already. A seed alone does not show them: it is stored, and this takes a key of the installation.
 */
@Injectable()
export class SeededSecrets {
  readonly #key: Buffer;

  constructor(cipher: SecretCipher) {
    const [first] = cipher.keysFor('idempotent-secrets');
    if (first === undefined) throw new Error('there is no key for the secrets of repeated requests');
    this.#key = first;
  }

  /**
   * Returns 32 bytes, other ones for each name.
   * @param seed that of the request; `null` for random bytes
   */
  bytes(seed: string | null, name: string): Buffer {
    return seed === null ? randomBytes(BYTES) : createHmac('sha256', this.#key).update(`${name} ${seed}`).digest();
  }

  /**
   * Returns another seed, for an id beside a secret. With another key of the installation, neither is the same: so the id
   * of a thing comes with its secret.
   */
  seedOf(seed: string, name: string): string {
    return this.bytes(seed, name).toString('hex');
  }
}
