import { hash } from 'node:crypto';

const FIRST_SLOTS = 1_024;
/** The largest filled share of the slots. In a fuller open-addressed table, searches get slow. */
const FILL = 0.6;

/**
 * A set of texts that answers only whether a text was added before. Each takes 8 bytes, whatever its length. Among a
 * hundred million texts, two are confused with a chance of 1 in 4,000: good for checks, not for decisions.
 */
export class Fingerprints {
  #slots = new BigUint64Array(FIRST_SLOTS);
  #size = 0;

  /** @returns whether the text is new */
  add(text: string): boolean {
    if (this.#size >= this.#slots.length * FILL) this.#grow();
    // Zero marks a free slot.
    const fingerprint = hash('sha256', text, 'buffer').readBigUInt64LE() || 1n;
    if (!place(this.#slots, fingerprint)) return false;
    this.#size++;
    return true;
  }

  #grow(): void {
    const larger = new BigUint64Array(this.#slots.length * 2);
    for (const fingerprint of this.#slots) if (fingerprint !== 0n) place(larger, fingerprint);
    this.#slots = larger;
  }
}

/** @returns whether the fingerprint is new */
function place(slots: BigUint64Array, fingerprint: bigint): boolean {
  let at = Number(fingerprint & BigInt(slots.length - 1));
  while (slots[at] !== 0n) {
    if (slots[at] === fingerprint) return false;
    at = (at + 1) % slots.length;
  }
  slots[at] = fingerprint;
  return true;
}
