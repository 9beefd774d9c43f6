import type { EventType, GaplessEvent } from '../../../event-types/src/index.js';
import type { Feed, FeedPage, FeedQuery, FeedRequestOptions } from '../feed/feed.js';
import { anEvent } from './an-event.js';

/**
 * A feed in memory. With `waitSeconds`, it answers once there is an event. A reader that is ahead of it gets an answer at
 * once.
 */
export class FakeFeed implements Feed {
  readonly events: GaplessEvent[] = [];
  /** The requests, in order. */
  readonly queries: FeedQuery[] = [];
  /** Errors to throw for the next requests, in order. */
  readonly failures: unknown[] = [];
  #grown: () => void = () => undefined;

  /** Appends events of a type up to this seq. */
  growTo(seq: number, event: EventType = 'ticket.created'): void {
    for (let next = (this.events.at(-1)?.seq ?? 0) + 1; next <= seq; next++) {
      this.events.push({ ...anEvent(next), event } as GaplessEvent);
    }
    this.#grown();
  }

  /** Removes the events below this seq, as retention does. */
  pruneBelow(seq: number): void {
    this.events.splice(
      0,
      this.events.findIndex((event) => event.seq >= seq),
    );
  }

  /** Loses an event, as a broken log does. */
  lose(seq: number): void {
    this.events.splice(
      this.events.findIndex((event) => event.seq === seq),
      1,
    );
  }

  async page(query: FeedQuery, { signal }: FeedRequestOptions = {}): Promise<FeedPage> {
    this.queries.push(query);
    if (this.failures.length > 0) throw this.failures.shift();
    while (query.waitSeconds !== undefined && (this.events.at(-1)?.seq ?? 0) === query.since) {
      await new Promise<void>((resolve, reject) => {
        this.#grown = resolve;
        signal?.addEventListener('abort', () => {
          reject(signal.reason as Error);
        });
      });
    }
    const behind = this.events.filter(
      ({ seq, event }) => seq > query.since && (query.event === undefined || event === query.event),
    );
    const events = behind.slice(0, query.limit ?? 100);
    return {
      events,
      nextSeq: behind.length > events.length ? (events.at(-1)?.seq ?? null) : null,
      oldestSeq: this.events[0]?.seq ?? 0,
      headSeq: this.events.at(-1)?.seq ?? 0,
    };
  }
}
