/** Measures how long somebody who waits for events got nothing new. */
export class StallWatch {
  #lastNewAt: number | null = null;
  #longestMs = 0;

  /** It counts from now on. */
  begin(): void {
    this.#lastNewAt = performance.now();
    this.#longestMs = 0;
  }

  noticeNew(): void {
    if (this.#lastNewAt === null) return;
    const now = performance.now();
    this.#longestMs = Math.max(this.#longestMs, now - this.#lastNewAt);
    this.#lastNewAt = now;
  }

  /** The longest time without anything new, up to the last that came. */
  get longestMs(): number {
    return this.#longestMs;
  }
}
