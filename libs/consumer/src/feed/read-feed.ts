import { setTimeout as delay } from 'node:timers/promises';
import type { EventType, GaplessEvent } from '../../../event-types/src/index.js';
import type { Cursor } from './cursor.js';
import { beforeGap } from './feed-gap.js';
import { checkPruned, startingPoint, type FeedStart, type OnPruned } from './feed-start.js';
import type { Feed, FeedPage } from './feed.js';
import { ResetWatch } from './reset-watch.js';
import { saveAtStop } from './save-at-stop.js';

export interface ReadFeedOptions {
  readonly feed: Feed;
  /** Stores the position. A restarted process continues after it. */
  readonly cursor: Cursor;
  /** Where to begin if the cursor holds no position; at the beginning by default. */
  readonly startAt?: FeedStart;
  /** Read only events of this type. */
  readonly event?: EventType;
  /** Read only events of this widget. */
  readonly widgetId?: string;
  /** The largest number of events in a batch, 1 … 1,000; 500 by default. */
  readonly batchSize?: number;
  /** Whether to wait for new events after the newest one; true by default. */
  readonly follow?: boolean;
  /**
   * Called for events that retention removed before they were read. Without it, reading ends with a FeedPrunedError.
   */
  readonly onPruned?: OnPruned;
  /**
   * How long the position may be ahead of the feed before reading ends with a FeedResetError, milliseconds; 60,000 by
   * default; also without `follow`. `Infinity` waits until the feed reaches the position.
   */
  readonly resetAfterMs?: number;
  /** Ends the reading. */
  readonly signal?: AbortSignal;
}

const DEFAULT_BATCH_SIZE = 500;
const WAIT_SECONDS = 25;

/**
 * Reads the feed batch by batch, in order, and follows it by long poll. The cursor moves when the caller asks for the
 * next batch. If handling a batch throws, breaks or dies with the process, the batch is read again. With `event` or
 * `widgetId`, the cursor also moves past events that do not match.
 *
 * While the service is unavailable it retries, as `Retry-After` says or with back-off.
 * @throws ApiError when the service refuses the request
 * @throws FeedPrunedError without `onPruned`
 * @throws FeedGapError when events are missing in the feed; with `event` or `widgetId`, this cannot be seen
 * @throws FeedResetError when the position stays ahead of the feed: Gapless is behind, or the feed began again
 */
export async function* readFeed(options: ReadFeedOptions): AsyncGenerator<readonly GaplessEvent[], void, void> {
  const { feed, cursor, startAt = 'beginning', follow = true, signal, onPruned } = options;
  try {
    const reset = new ResetWatch(options.resetAfterMs);
    const begun = await startingPoint(feed, cursor, startAt, { signal });
    let since = begun.seq;
    for (;;) {
      const found = await feed.page(queryOf(options, since, follow), { signal });
      const error = reset.check(since, found);
      if (error !== undefined) throw error;
      if (reset.restMs !== undefined) {
        await delay(reset.restMs, undefined, signal === undefined ? {} : { signal });
        continue;
      }
      checkPruned(since, begun, found, onPruned);
      const page = isFiltered(options) ? found : beforeGap(since, found);
      if (page.events.length > 0) yield page.events;
      const position = positionAfter(since, page);
      if (position > since) {
        since = position;
        await savePosition(cursor, since, signal);
      }
      if (isEnd(page, follow) || signal?.aborted === true) return;
    }
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
}

async function savePosition(cursor: Cursor, seq: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await cursor.save(seq, { signal });
  } catch (error) {
    if (signal?.aborted !== true) throw error;
    await saveAtStop(cursor, seq);
  }
}

function queryOf({ event, widgetId, batchSize }: ReadFeedOptions, since: number, follow: boolean) {
  return {
    since,
    limit: batchSize ?? DEFAULT_BATCH_SIZE,
    event,
    widgetId,
    waitSeconds: follow ? WAIT_SECONDS : undefined,
  };
}

function isFiltered({ event, widgetId }: ReadFeedOptions): boolean {
  return event !== undefined || widgetId !== undefined;
}

/**
 * Returns the position after the page. Events up to the head that are not on the last page do not match the query. If the
 * reader stayed at its last match, retention would pass it, and it would report lost events.
 */
function positionAfter(since: number, { events, nextSeq, headSeq }: FeedPage): number {
  const last = events.at(-1)?.seq ?? since;
  return nextSeq === null ? Math.max(last, headSeq) : last;
}

function isEnd(page: FeedPage, follow: boolean): boolean {
  return page.nextSeq === null && !follow;
}
