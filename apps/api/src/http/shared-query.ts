/** The most keys in one query, so that no caller waits long for the keys of others. */
const MAX_KEYS = 2_000;

interface Waiting<Key, Value> {
  readonly keys: readonly Key[];
  readonly resolve: (found: ReadonlyMap<Key, Value>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Answers many small questions with few queries. Questions that come while a query runs share the next one. Nothing is
 * cached: the query of an answer always begins after the question.
 */
export class SharedQuery<Key extends string, Value> {
  #waiting: Waiting<Key, Value>[] = [];
  #isRunning = false;

  /** @param fetch returns the values of all the keys; keys without a value are missing */
  constructor(private readonly fetch: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>) {}

  /** Returns the values of the keys, and possibly of others that share the query. */
  ask(keys: readonly Key[]): Promise<ReadonlyMap<Key, Value>> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ keys, resolve, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // Questions of the same turn of the event loop share the first query, too.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#takeBatch();
      try {
        const found = await this.fetch([...new Set(batch.flatMap(({ keys }) => keys))]);
        for (const waiting of batch) waiting.resolve(found);
      } catch (error) {
        for (const waiting of batch) waiting.reject(error);
      }
    }
    this.#isRunning = false;
  }

  #takeBatch(): readonly Waiting<Key, Value>[] {
    let keys = 0;
    let taken = 0;
    for (const waiting of this.#waiting) {
      keys += waiting.keys.length;
      if (taken > 0 && keys > MAX_KEYS) break;
      taken++;
    }
    return this.#waiting.splice(0, taken);
  }
}
