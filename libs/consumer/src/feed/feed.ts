import type { EventType, GaplessEvent } from '../../../event-types/src/index.js';

/** A query of the feed (contract 5.4). */
export interface FeedQuery {
  /** Events behind this seq; 0 begins where the retention window begins. */
  readonly since: number;
  /** At most so many; 1 … 1,000. */
  readonly limit: number;
  readonly event?: EventType | undefined;
  readonly widgetId?: string | undefined;
  /** How long to wait for an event when there is none yet, 1 … 30 seconds; not at all if not given. */
  readonly waitSeconds?: number | undefined;
}

export interface FeedPage {
  /** Ascending by seq. */
  readonly events: readonly GaplessEvent[];
  /** Where the next page begins; null: that was all. */
  readonly nextSeq: number | null;
  /** The bounds of what the organization has in the feed; 0 without events. */
  readonly oldestSeq: number;
  readonly headSeq: number;
}

export interface FeedRequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** How often to try again when the service is not to be had; without end if not given. */
  readonly retries?: number;
}

/** The pull feed of an organization. */
export interface Feed {
  /**
   * @throws ApiError
   * @throws the signal's reason once it is aborted
   */
  page(query: FeedQuery, options?: FeedRequestOptions): Promise<FeedPage>;
}
