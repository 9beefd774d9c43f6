/**
 * Out-of-order completion with in-order commits: the offset that may be committed is the one before which everything
 * is complete.
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

  /** Takes up an offset that is not below `next`. Offsets that the topic skips before it count as complete. */
  take(offset: number): void {
    for (let skipped = this.#taken; skipped < offset; skipped++) this.#done.add(skipped);
    this.#taken = offset + 1;
    this.#advance();
  }

  complete(offset: number): void {
    if (offset < this.#next) return;
    this.#done.add(offset);
    this.#advance();
  }

  /** The offset to commit: the first one that is not complete. */
  get committable(): number {
    return this.#next;
  }

  /** The offset that is to be taken next. */
  get next(): number {
    return this.#taken;
  }

  #advance(): void {
    while (this.#done.delete(this.#next)) this.#next++;
  }
}
