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

/** Where a reader begins. */
export interface StartingPoint {
  /** The seq after which to read. */
  readonly seq: number;
  /** Whether it is the position of the cursor. */
  readonly isStored: boolean;
}

/** Returns where to begin: at the position of the cursor, or at the start if the cursor holds none. */
export async function startingPoint(
  feed: Feed,
  cursor: Cursor,
  start: FeedStart,
  request: FeedRequestOptions,
): Promise<StartingPoint> {
  const seq = await cursor.load(request);
  if (seq !== undefined) return { seq, isStored: true };
  if (start !== 'head') return { seq: start === 'beginning' ? 0 : start, isStored: false };
  const { headSeq } = await feed.page({ since: 0, limit: 1 }, request);
  // Save the start now, so that a process that ends before the first event still resumes here.
  await cursor.save(headSeq, request);
  return { seq: headSeq, isStored: true };
}

/**
 * Reports events that retention removed before the page was read.
 * @param since the seq after which the page was read
 * @param isStored whether the reader began at a stored position. Without one, a reader at 0 wants the oldest event that
 *   there is, and missed nothing. With one, it was there before the first event.
 * @throws FeedPrunedError without `onPruned`
 */
export function checkPruned(
  since: number,
  { isStored }: StartingPoint,
  { oldestSeq }: FeedPage,
  onPruned: OnPruned | undefined,
): void {
  if ((since === 0 && !isStored) || oldestSeq <= since + 1) return;
  const error = new FeedPrunedError(since, oldestSeq);
  if (onPruned === undefined) throw error;
  onPruned(error);
}
