import type { FeedPage } from './feed.js';

/** The feed has later events and lacks earlier ones, which retention has not removed. They were lost, and may come back. */
export class FeedGapError extends Error {
  override readonly name = 'FeedGapError';

  constructor(
    /** The seq of the last event before the gap. */
    readonly since: number,
    /** The seq of the first event after it. */
    readonly nextSeq: number,
  ) {
    super(
      `the feed goes on with ${nextSeq} after ${since}: ${nextSeq - since - 1} missing. Report this to the operator of ` +
        'Gapless, who may be able to restore them. To go on without them, stop the reader, save ' +
        `${nextSeq - 1} in its cursor, and start it again`,
    );
  }
}

/**
 * Returns the part of a page before its first gap. The page after that part begins with the gap.
 * @param since the seq after which the page was read, without a filter
 * @throws FeedGapError when the page begins with a gap
 */
export function beforeGap(since: number, page: FeedPage): FeedPage {
  const { events, oldestSeq } = page;
  const first = Math.max(since + 1, oldestSeq);
  const count = events.findIndex(({ seq }, nth) => seq !== first + nth);
  const after = events[count];
  if (after === undefined) return page;
  if (count === 0) throw new FeedGapError(first - 1, after.seq);
  return { ...page, events: events.slice(0, count), nextSeq: first + count - 1 };
}
