import type { Cursor } from './cursor.js';
import type { Feed, FeedPage, FeedRequestOptions } from './feed.js';

/** Where to begin without a cursor: at the oldest event, after the newest, or after a seq. */
export type FeedStart = 'beginning' | 'head' | number;

/** The reader was away for longer than the feed keeps events: those in between cannot be had any more. */
export class FeedPrunedError extends Error {
  override readonly name = 'FeedPrunedError';

  constructor(
    /** The last event that was handled. */
    readonly since: number,
    /** The first that is still there. */
    readonly oldestSeq: number,
  ) {
    super(`the feed begins at ${oldestSeq}, and ${since} was the last that was handled: ${oldestSeq - since - 1} lost`);
  }
}

/** Called for events that retention removed. Without it, reading ends with the error. */
export type OnPruned = (error: FeedPrunedError) => void;

/** The seq behind which to read on: the cursor's, or else the start's. */
export async function startingSeq(
  feed: Feed,
  cursor: Cursor,
  start: FeedStart,
  request: FeedRequestOptions,
): Promise<number> {
  const seq = await cursor.load();
  if (seq !== undefined) return seq;
  if (typeof start === 'number') return start;
  if (start === 'beginning') return 0;
  const { headSeq } = await feed.page({ since: 0, limit: 1 }, request);
  // From here on it counts, even if nothing comes before the process ends.
  await cursor.save(headSeq);
  return headSeq;
}

/**
 * Reports events that the page could not return any more.
 * @param since the seq after which it was read; after 0 nothing was promised
 * @throws FeedPrunedError without `onPruned`
 */
export function checkPruned(since: number, { oldestSeq }: FeedPage, onPruned: OnPruned | undefined): void {
  if (since === 0 || oldestSeq <= since + 1) return;
  const error = new FeedPrunedError(since, oldestSeq);
  if (onPruned === undefined) throw error;
  onPruned(error);
}
