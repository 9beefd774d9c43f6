import { FINGERPRINT_BYTES, type IdFingerprint } from './id-fingerprint.js';

const FIRST_BYTES = 64 * FINGERPRINT_BYTES;

/** Fingerprints in a row, as a checkpoint stores them. */
export class FingerprintList {
  #bytes = Buffer.alloc(0);
  #length = 0;

  get size(): number {
    return this.#length / FINGERPRINT_BYTES;
  }

  add(print: IdFingerprint): void {
    if (this.#length === this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(FIRST_BYTES, this.#bytes.length * 2));
      this.#bytes.copy(larger);
      this.#bytes = larger;
    }
    for (const word of print) this.#length = this.#bytes.writeInt32LE(word, this.#length);
  }

  /** Returns the bytes and empties the list. */
  take(): Buffer {
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
    return bytes;
  }
}

/** Reads the fingerprints from the bytes of a list. */
export function fingerprintsOf(bytes: Buffer): readonly IdFingerprint[] {
  const prints: IdFingerprint[] = [];
  for (let at = 0; at + FINGERPRINT_BYTES <= bytes.length; at += FINGERPRINT_BYTES) {
    prints.push([
      bytes.readInt32LE(at),
      bytes.readInt32LE(at + 4),
      bytes.readInt32LE(at + 8),
      bytes.readInt32LE(at + 12),
    ]);
  }
  return prints;
}
