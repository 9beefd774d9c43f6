import { FINGERPRINT_BYTES, type IdFingerprint } from './id-fingerprint.js';

const WORDS = FINGERPRINT_BYTES / 4;
const FIRST_SLOTS = 64;
/** The largest filled share of the table. In a fuller table, a search takes too many steps. */
const FILL = 0.75;

/**
 * A set of fingerprints in one typed array: 16 bytes a slot, 21 to 43 bytes an entry, without an object for each entry.
 */
export class FingerprintTable {
  #slots: Int32Array;
  #mask: number;
  /** The number of entries in `#slots`. A slot of zeros is free. */
  #filled = 0;
  #hasZero = false;

  /** @param expected how many entries the table takes before it has to grow */
  constructor(expected = 0) {
    let slots = FIRST_SLOTS;
    while (slots * FILL < expected) slots *= 2;
    this.#slots = new Int32Array(slots * WORDS);
    this.#mask = slots - 1;
  }

  get size(): number {
    return this.#filled + (this.#hasZero ? 1 : 0);
  }

  has(print: IdFingerprint): boolean {
    if (isZero(print)) return this.#hasZero;
    return !this.#isFree(this.#placeOf(print));
  }

  /** @returns whether the fingerprint is new */
  add(print: IdFingerprint): boolean {
    if (isZero(print)) {
      const isNew = !this.#hasZero;
      this.#hasZero = true;
      return isNew;
    }
    const at = this.#placeOf(print);
    if (!this.#isFree(at)) return false;
    this.#slots.set(print, at);
    this.#filled++;
    if (this.#filled > (this.#mask + 1) * FILL) this.#grow();
    return true;
  }

  /** Returns the entry's place in the slots, or the free slot for it. */
  #placeOf([a, b, c, d]: IdFingerprint): number {
    const slots = this.#slots;
    for (let slot = a & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const at = slot * WORDS;
      if (slots[at] === a && slots[at + 1] === b && slots[at + 2] === c && slots[at + 3] === d) return at;
      if (this.#isFree(at)) return at;
    }
  }

  #isFree(at: number): boolean {
    const slots = this.#slots;
    return slots[at] === 0 && slots[at + 1] === 0 && slots[at + 2] === 0 && slots[at + 3] === 0;
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Int32Array(before.length * 2);
    this.#mask = this.#mask * 2 + 1;
    for (let at = 0; at < before.length; at += WORDS) {
      const print = [before[at] ?? 0, before[at + 1] ?? 0, before[at + 2] ?? 0, before[at + 3] ?? 0] as const;
      if (!isZero(print)) this.#slots.set(print, this.#placeOf(print));
    }
  }
}

function isZero([a, b, c, d]: IdFingerprint): boolean {
  return a === 0 && b === 0 && c === 0 && d === 0;
}
