/**
 * Tracks offsets that complete out of order, so that they are committed in order. An offset may be committed once
 * everything before it is complete.
 */
export class CompletionTracker {
  readonly #open = new Set<number>();
  #next: number;
  #taken: number;

  /** @param firstOffset the first offset that will be taken */
  constructor(firstOffset: number) {
    this.#next = firstOffset;
    this.#taken = firstOffset;
  }

  /** Adds an offset, which is at least `next`. Offsets that the topic skips before it count as complete. */
  take(offset: number): void {
    if (this.#open.size === 0) this.#next = offset;
    this.#open.add(offset);
    this.#taken = offset + 1;
  }

  complete(offset: number): void {
    this.#open.delete(offset);
    while (this.#next < this.#taken && !this.#open.has(this.#next)) this.#next++;
  }

  /** The offset to commit: the first incomplete one. */
  get committable(): number {
    return this.#next;
  }

  /** The lowest offset that can be taken next. */
  get next(): number {
    return this.#taken;
  }
}
