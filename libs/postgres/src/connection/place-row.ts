import type { FeedListId } from './feed-servers.js';

/** The row of `installation`, as far as it says which part of the feed a database holds. */
export interface PlaceRow {
  readonly id: string;
  readonly feed_place: number | null;
  readonly feed_places: number;
  readonly feed_joined: readonly number[];
  readonly feed_list: FeedListId;
}

export const PLACE_SQL = 'select id, feed_place, feed_places, feed_joined, feed_list from installation';
