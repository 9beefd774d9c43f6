import type { EventId } from '../kernel/index.js';

/**
 * How many of an org's latest event ids the sequencer knows. More than two full ingest requests (of 500), so that a
 * request that is sent again right after its answer got lost is recognised whole, whatever the feed shows by then.
 */
export const RECENT_IDS_PER_ORG = 1_024;

/** The last ids of one org, in the order in which they were appended. */
export class RecentIds {
  readonly #ids: Set<EventId>;

  constructor(ids: Iterable<EventId> = []) {
    this.#ids = new Set(ids);
  }

  has(id: EventId): boolean {
    return this.#ids.has(id);
  }

  /** A `Set` iterates in the order of insertion, so its first entry is the oldest id. */
  add(id: EventId): void {
    this.#ids.add(id);
    if (this.#ids.size > RECENT_IDS_PER_ORG) {
      const oldest = this.#ids.values().next();
      if (!oldest.done) this.#ids.delete(oldest.value);
    }
  }

  toArray(): readonly EventId[] {
    return [...this.#ids];
  }
}
