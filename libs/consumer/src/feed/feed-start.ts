import type { Cursor } from './cursor.js';
import type { Feed, FeedPage, FeedRequestOptions } from './feed.js';

/** Where to begin without a cursor: at the oldest event, after the newest, or after a seq. */
export type FeedStart = 'beginning' | 'head' | number;

/** The reader was away for longer than the feed keeps events. The events in between are no longer available. */
export class FeedPrunedError extends Error {
  override readonly name = 'FeedPrunedError';

  constructor(
    /** The seq of the last event that was handled. */
    readonly since: number,
    /** The seq of the oldest event in the feed. */
    readonly oldestSeq: number,
  ) {
    super(`the feed begins at ${oldestSeq}, and ${since} was the last that was handled: ${oldestSeq - since - 1} lost`);
  }
}

/** Called for events that retention removed. Without it, reading ends with a FeedPrunedError. */
export type OnPruned = (error: FeedPrunedError) => void;

/** Returns the seq after which to read: the cursor's, or the start's if the cursor holds none. */
export async function startingSeq(
  feed: Feed,
  cursor: Cursor,
  start: FeedStart,
  request: FeedRequestOptions,
): Promise<number> {
  const seq = await cursor.load(request);
  if (seq !== undefined) return seq;
  if (typeof start === 'number') return start;
  if (start === 'beginning') return 0;
  const { headSeq } = await feed.page({ since: 0, limit: 1 }, request);
  // Save the start now, so that a process that ends before the first event still resumes here.
  await cursor.save(headSeq, request);
  return headSeq;
}

/**
 * Reports events that retention removed before the page was read.
 * @param since the seq after which the page was read; a reader that starts at 0 missed nothing
 * @throws FeedPrunedError without `onPruned`
 */
export function checkPruned(since: number, { oldestSeq }: FeedPage, onPruned: OnPruned | undefined): void {
  if (since === 0 || oldestSeq <= since + 1) return;
  const error = new FeedPrunedError(since, oldestSeq);
  if (onPruned === undefined) throw error;
  onPruned(error);
}
