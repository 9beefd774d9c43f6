import type { GaplessEvent } from '../../../event-types/src/index.js';
import { beforeGap } from '../feed/feed-gap.js';
import { checkPruned, type OnPruned } from '../feed/feed-start.js';
import type { Feed } from '../feed/feed.js';
import type { PushGaps } from './push-gaps.js';

export interface ReadPushGapsOptions {
  readonly feed: Feed;
  readonly gaps: PushGaps;
  /**
   * Handles an event of a gap. Events of every type come, also those that the endpoint does not get. A late push can
   * bring the same event.
   */
  readonly handle: (event: GaplessEvent) => void | Promise<void>;
  /** Called for events of a gap that retention removed. Without it, reading ends with a FeedPrunedError. */
  readonly onPruned?: OnPruned;
  /** Ends the reading. */
  readonly signal?: AbortSignal;
}

const PAGE_SIZE = 1_000;

/**
 * Reads the gaps from the feed, oldest first, and settles what it has read. A push can come before its event is in the
 * feed, so a gap beyond the end of the feed stays for the next call. Make one call at a time.
 *
 * While the service is unavailable it retries, as `Retry-After` says or with back-off.
 * @throws ApiError when the service refuses the request
 * @throws FeedPrunedError without `onPruned`
 * @throws FeedGapError when events of a gap are missing in the feed, too; the gap stays open
 * @throws what `handle` throws; its page is read again by the next call
 * @throws the signal's reason once it is aborted
 */
export async function readPushGaps(options: ReadPushGapsOptions): Promise<void> {
  const { feed, gaps, handle, onPruned, signal } = options;
  for (const { after, before } of gaps.gaps) {
    const last = before - 1;
    let since = after;
    while (since < last) {
      const found = await feed.page({ since, limit: Math.min(PAGE_SIZE, last - since) }, { signal });
      // The gaps after this one are reported on their own.
      const oldestSeq = Math.min(found.oldestSeq, before);
      checkPruned(since, { seq: after, isStored: true }, { ...found, oldestSeq }, onPruned);
      const page = beforeGap(since, found);
      for (const event of page.events) if (event.seq <= last) await handle(event);
      const readTo = Math.min(page.nextSeq ?? page.headSeq, last);
      if (readTo > since) gaps.settled(readTo);
      if (readTo < last && page.nextSeq === null) return;
      since = readTo;
    }
  }
}
