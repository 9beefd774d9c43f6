interface Waiting {
  readonly work: () => Promise<void>;
  readonly settle: () => void;
  /** Resolves once the work is done, or dropped. */
  readonly settled: Promise<void>;
}

/** Runs the work of a partition in order, one thing at a time. */
export class PartitionQueue {
  readonly #waiting: Waiting[] = [];
  #running: Promise<void> | null = null;

  /** Whether nothing is being done, and nothing waits. */
  get isIdle(): boolean {
    return this.#running === null;
  }

  /** How much has not begun yet. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * @param work never rejects
   * @returns what resolves once the work is done, or dropped
   */
  add(work: () => Promise<void>): Promise<void> {
    let settle: () => void = () => undefined;
    const settled = new Promise<void>((resolve) => {
      settle = resolve;
    });
    this.#waiting.push({ work, settle, settled });
    this.#running ??= this.#runAll();
    return settled;
  }

  /** Resolves once fewer than so many wait. */
  async room(most: number): Promise<void> {
    for (let first = this.#waiting[0]; this.#waiting.length >= most; first = this.#waiting[0]) await first?.settled;
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
