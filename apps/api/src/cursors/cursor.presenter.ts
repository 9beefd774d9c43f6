import type { FeedBounds, FeedCursor } from '#libs/postgres';

/** A cursor with its distance from the head of the feed (contract 5.8). */
export function cursorJson({ name, seq, createdAt, movedAt }: FeedCursor, { oldestSeq, headSeq }: FeedBounds) {
  return {
    name,
    seq,
    behind: Math.max(0, headSeq - seq),
    lost: Math.max(0, oldestSeq - 1 - seq),
    moved_at: movedAt.toISOString(),
    created_at: createdAt.toISOString(),
  };
}
