import type { GaplessEvent } from '../../../event-types/src/index.js';

/** Names an event among those of all organizations. */
export type EventKey = Pick<GaplessEvent, 'org_id' | 'id'>;

/**
 * Remembers which events were handled. `Transaction` is what the work writes with, so that the work and the memory of
 * it are one.
 */
export interface Dedup<Transaction> {
  /**
   * Does the work, unless it was done for this event before. A second call meanwhile waits for the first one. Work that
   * throws counts as not done.
   * @returns whether the work was done now
   * @throws what the work throws
   */
  once(event: EventKey, work: (transaction: Transaction) => Promise<void>): Promise<boolean>;
}

const DEFAULT_CAPACITY = 100_000;

/** A memory that lasts as long as the process, of a bounded number of events: the oldest are forgotten first. */
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
      // How it ends is seen above: done, or nobody's work any more.
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
