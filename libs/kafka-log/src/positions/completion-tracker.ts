/**
 * Tracks offsets that complete out of order, so that they are committed in order. An offset may be committed once
 * everything before it is complete.
 */
export class CompletionTracker {
  readonly #done = new Set<number>();
  #next: number;
  #taken: number;

  /** @param firstOffset the first offset that will be taken */
  constructor(firstOffset: number) {
    this.#next = firstOffset;
    this.#taken = firstOffset;
  }

  /** Adds an offset, which is at least `next`. Offsets that the topic skips before it count as complete. */
  take(offset: number): void {
    if (this.#next === this.#taken) this.#next = offset;
    else for (let skipped = this.#taken; skipped < offset; skipped++) this.#done.add(skipped);
    this.#taken = offset + 1;
    this.#advance();
  }

  complete(offset: number): void {
    if (offset < this.#next) return;
    this.#done.add(offset);
    this.#advance();
  }

  /** The offset to commit: the first incomplete one. */
  get committable(): number {
    return this.#next;
  }

  /** The lowest offset that can be taken next. */
  get next(): number {
    return this.#taken;
  }

  #advance(): void {
    while (this.#done.delete(this.#next)) this.#next++;
  }
}
