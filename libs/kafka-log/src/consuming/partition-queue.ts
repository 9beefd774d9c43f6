interface Queued {
  readonly work: () => Promise<void>;
  readonly bytes: number;
  /** Resolves once the work is done, or dropped. */
  readonly settled: Promise<void>;
  readonly settle: () => void;
}

/** Runs the work of a partition in order, one thing at a time. */
export class PartitionQueue {
  readonly #waiting: Queued[] = [];
  #running: Queued | null = null;
  /** Of all that waits or is being done. */
  #bytes = 0;

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
   * @param bytes that are in memory until then
   * @returns what resolves once the work is done, or dropped
   */
  add(work: () => Promise<void>, bytes = 0): Promise<void> {
    let settle: () => void = () => undefined;
    const settled = new Promise<void>((resolve) => {
      settle = resolve;
    });
    this.#waiting.push({ work, bytes, settled, settle });
    this.#bytes += bytes;
    if (this.#running === null) void this.#runAll();
    return settled;
  }

  /** Resolves once fewer bytes than that are in memory. */
  async room(bytes: number): Promise<void> {
    while (this.#bytes >= bytes) await this.#running?.settled;
  }

  /** Drops what has not begun. */
  drop(): void {
    for (const queued of this.#waiting.splice(0)) this.#end(queued);
  }

  /** Resolves once nothing is being done, and nothing waits. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running.settled;
  }

  async #runAll(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      this.#running = next;
      await next.work();
      // Those who wait for the last one find the queue idle.
      if (this.#waiting.length === 0) this.#running = null;
      this.#end(next);
    }
  }

  #end({ bytes, settle }: Queued): void {
    this.#bytes -= bytes;
    settle();
  }
}
