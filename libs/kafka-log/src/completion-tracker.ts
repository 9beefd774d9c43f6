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

  /** Whether the offset is taken up for the first time; a refetched one is under way or complete already. */
  take(offset: number): boolean {
    if (offset < this.#taken) return false;
    // Offsets that a topic skips count as complete.
    for (let skipped = this.#taken; skipped < offset; skipped++) this.#done.add(skipped);
    this.#taken = offset + 1;
    this.#advance();
    return true;
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

  /** How many offsets are taken and not complete. */
  get inFlight(): number {
    return this.#taken - this.#next - this.#done.size;
  }

  #advance(): void {
    while (this.#done.delete(this.#next)) this.#next++;
  }
}
