interface Queued {
  readonly work: () => Promise<void>;
  readonly bytes: number;
  /** Resolves once the work is done or dropped. */
  readonly settled: Promise<void>;
  readonly settle: () => void;
}

/** Runs the work of a partition in order, one item at a time. */
export class PartitionQueue {
  readonly #waiting: Queued[] = [];
  #running: Queued | null = null;
  /** The bytes of all waiting and running work. */
  #bytes = 0;

  /** Whether no work is running or waiting. */
  get isIdle(): boolean {
    return this.#running === null;
  }

  /** The number of waiting items. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * @param work never rejects
   * @param bytes the memory that the work holds until it is done
   * @returns a promise that resolves once the work is done or dropped
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

  /** Resolves once the work holds fewer bytes in memory. */
  async room(bytes: number): Promise<void> {
    while (this.#bytes >= bytes) await this.#running?.settled;
  }

  /** Drops waiting work. */
  drop(): void {
    for (const queued of this.#waiting.splice(0)) this.#end(queued);
  }

  /** Resolves once no work is running or waiting. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running.settled;
  }

  async #runAll(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      this.#running = next;
      await next.work();
      // Set it now, so that callers that wait for the last item find the queue idle.
      if (this.#waiting.length === 0) this.#running = null;
      this.#end(next);
    }
  }

  #end({ bytes, settle }: Queued): void {
    this.#bytes -= bytes;
    settle();
  }
}
