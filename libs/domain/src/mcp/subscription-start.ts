import type { Seq } from '../kernel/index.js';

/** Where the delivery of a subscription begins. */
export interface SubscriptionStart {
  /** The seq after which it begins. */
  readonly since: Seq;
  /** Whether events after the asked position are left out. */
  readonly isTruncated: boolean;
}

/**
 * Decides where a subscription continues. It is truncated exactly when an event after the asked position can no longer
 * be read, whatever its type: the types of events past retention are not known.
 * @param oldestSeq the oldest event that can be read, or the next one if all are gone; 0 without events
 */
export function startAfter(asked: Seq, oldestSeq: Seq): SubscriptionStart {
  const isTruncated = oldestSeq > asked + 1;
  return { since: isTruncated ? ((oldestSeq - 1) as Seq) : asked, isTruncated };
}

/** The most events that a webhook subscription looks back. A client that was away for longer polls the rest. */
export const MAX_REPLAY = 100_000;

/** Returns the start of a webhook subscription: as asked, but not too far back, because each event becomes a push. */
export function replayStart({ since, isTruncated }: SubscriptionStart, headSeq: Seq): SubscriptionStart {
  const earliest = (headSeq - MAX_REPLAY) as Seq;
  return since < earliest ? { since: earliest, isTruncated: true } : { since, isTruncated };
}
