interface Waiting {
  readonly work: () => Promise<void>;
  readonly settle: () => void;
}

/** Runs the work of a partition in order, one thing at a time. */
export class PartitionQueue {
  readonly #waiting: Waiting[] = [];
  #running: Promise<void> | null = null;

  /** How much has not begun yet. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * @param work never rejects
   * @returns what resolves once the work is done, or dropped
   */
  add(work: () => Promise<void>): Promise<void> {
    return new Promise((settle) => {
      this.#waiting.push({ work, settle });
      this.#running ??= this.#runAll();
    });
  }

  /** Drops what has not begun. */
  drop(): void {
    for (const { settle } of this.#waiting.splice(0)) settle();
  }

  /** Resolves once nothing is being done, and nothing waits. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #runAll(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      await next.work();
      next.settle();
    }
    this.#running = null;
  }
}
