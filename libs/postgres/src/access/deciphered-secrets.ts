import type { SecretCipher } from './secret-cipher.js';

/** Characters of ciphertexts and secrets, about 8 MB. A client certificate is 600 times as long as a signing secret. */
const MAX_LENGTH = 4_000_000;

/** Secrets that were deciphered lately, by ciphertext. A ciphertext never changes its meaning. */
export class DecipheredSecrets {
  readonly #known = new Map<string, string>();
  #length = 0;

  constructor(
    private readonly cipher: Pick<SecretCipher, 'decrypt'>,
    private readonly maxLength = MAX_LENGTH,
  ) {}

  /** @throws UnknownKeyError, or an error of Node when the ciphertext was changed */
  of(ciphertext: Buffer): string {
    const key = ciphertext.toString('latin1');
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const secret = this.cipher.decrypt(ciphertext);
    this.#length += key.length + secret.length;
    if (this.#length > this.maxLength) {
      this.#known.clear();
      this.#length = key.length + secret.length;
    }
    this.#known.set(key, secret);
    return secret;
  }
}
