import type { EventType, GaplessEvent } from '../../../event-types/src/index.js';

/** A query of the feed (contract 5.4). */
export interface FeedQuery {
  /** Return events after this seq; 0 starts at the oldest event. */
  readonly since: number;
  /** The largest number of events to return, 1 … 1,000; 100 by default. */
  readonly limit?: number | undefined;
  readonly event?: EventType | undefined;
  readonly widgetId?: string | undefined;
  /** How long to wait if there is no event yet, 1 … 30 seconds. Without it, the feed answers at once. */
  readonly waitSeconds?: number | undefined;
}

export interface FeedPage {
  /** Ascending by seq. */
  readonly events: readonly GaplessEvent[];
  /** The seq after which the next page begins; null on the last page. */
  readonly nextSeq: number | null;
  /** The seqs of the oldest and the newest event in the organization's feed; 0 if it is empty. */
  readonly oldestSeq: number;
  readonly headSeq: number;
}

export interface FeedRequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** How often to retry while the service is unavailable; without limit by default. */
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
