import type { GaplessEvent } from '../../../event-types/src/index.js';

/** Identifies an event across all organizations. */
export type EventKey = Pick<GaplessEvent, 'org_id' | 'id'>;

/**
 * Remembers which events were handled. The work writes with the `Transaction`, so that its writes and the memory of the
 * event commit together.
 */
export interface Dedup<Transaction> {
  /**
   * Does the work, unless it was done for this event before. A second call for the same event waits for the first. If
   * the work throws, it counts as not done.
   * @returns whether this call did the work
   * @throws any error of the work
   */
  once(event: EventKey, work: (transaction: Transaction) => Promise<void>): Promise<boolean>;
}

const DEFAULT_CAPACITY = 100_000;

/** Remembers a limited number of events in memory, until the process ends. Forgets the oldest first. */
export class MemoryDedup implements Dedup<undefined> {
  readonly #capacity: number;
  readonly #done = new Set<string>();
  readonly #working = new Map<string, Promise<void>>();

  /** @param options.capacity how many events are remembered; 100,000 if not given */
  constructor(options: { readonly capacity?: number } = {}) {
    this.#capacity = options.capacity ?? DEFAULT_CAPACITY;
  }

  async once({ org_id, id }: EventKey, work: (transaction: undefined) => Promise<void>): Promise<boolean> {
    const key = `${org_id}/${id}`;
    for (;;) {
      if (this.#done.has(key)) return false;
      const other = this.#working.get(key);
      if (other === undefined) break;
      // Only wait here: the loop checks above whether the other call did the work.
      await other.catch(() => undefined);
    }
    const working = work(undefined).finally(() => this.#working.delete(key));
    this.#working.set(key, working);
    await working;
    this.#remember(key);
    return true;
  }

  #remember(key: string): void {
    this.#done.add(key);
    for (const oldest of this.#done) {
      if (this.#done.size <= this.#capacity) return;
      this.#done.delete(oldest);
    }
  }
}
