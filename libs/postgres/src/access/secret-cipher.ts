import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const IV_BYTES = 12;
const TAG_BYTES = 16;
const DERIVED_KEY_BYTES = 32;

/** The purpose of the keys that sign cursors of events for agents. */
export const EVENT_CURSOR_KEYS = 'mcp-event-cursors';

/** A stored secret was encrypted with a key that is not configured, or no longer. */
export class UnknownKeyError extends Error {
  override readonly name = 'UnknownKeyError';
}

/**
 * Encrypts stored secrets with AES-256-GCM. A ciphertext is `<length of key id><key id><iv><tag><data>`. To rotate
 * keys, the first key encrypts and every key of the list decrypts.
 */
export class SecretCipher {
  readonly #keys: ReadonlyMap<string, Buffer>;
  readonly #currentId: string;

  /** @param keys `<id>:<base64 of 32 bytes>`, comma-separated; the configuration has checked them */
  constructor(keys: string) {
    const entries = keys.split(',').map((entry): [string, Buffer] => {
      const [id = '', key = ''] = entry.trim().split(':');
      return [id, Buffer.from(key, 'base64')];
    });
    this.#keys = new Map(entries);
    this.#currentId = entries[0]?.[0] ?? '';
  }

  /** The prefix of ciphertexts made with the first key. */
  get currentPrefix(): Buffer {
    const id = Buffer.from(this.#currentId);
    return Buffer.concat([Buffer.of(id.length), id]);
  }

  /**
   * Returns a key for another purpose from each key of the list, in its order. A derived key shows nothing about the
   * key that it comes from.
   */
  keysFor(purpose: string): readonly Buffer[] {
    return [...this.#keys.values()].map((key) => Buffer.from(hkdfSync('sha256', key, '', purpose, DERIVED_KEY_BYTES)));
  }

  encrypt(text: string): Buffer {
    const id = Buffer.from(this.#currentId);
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key(this.#currentId), iv);
    const data = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([Buffer.of(id.length), id, iv, cipher.getAuthTag(), data]);
  }

  /** @throws UnknownKeyError, or an error of Node when the ciphertext was changed */
  decrypt(ciphertext: Buffer): string {
    const idEnd = 1 + (ciphertext[0] ?? 0);
    const ivEnd = idEnd + IV_BYTES;
    const tagEnd = ivEnd + TAG_BYTES;
    const key = this.#key(ciphertext.subarray(1, idEnd).toString());
    const decipher = createDecipheriv('aes-256-gcm', key, ciphertext.subarray(idEnd, ivEnd));
    decipher.setAuthTag(ciphertext.subarray(ivEnd, tagEnd));
    return Buffer.concat([decipher.update(ciphertext.subarray(tagEnd)), decipher.final()]).toString();
  }

  /** As `decrypt`; `null` when the key is not configured, or the ciphertext was changed. */
  decryptOrNull(ciphertext: Buffer): string | null {
    try {
      return this.decrypt(ciphertext);
    } catch {
      return null;
    }
  }

  #key(id: string): Buffer {
    const key = this.#keys.get(id);
    if (key === undefined) throw new UnknownKeyError(`SECRET_ENCRYPTION_KEYS has no key with the id ${id}`);
    return key;
  }
}
