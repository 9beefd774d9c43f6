import { SEQ_NONE, type OrgId, type Seq } from '../kernel/index.js';

interface Sequenced {
  readonly orgId: OrgId;
  readonly seq: Seq;
}

/** A place where the log is not what it promises: an org's seq after which another one than the next was found. */
export interface SequenceGap {
  readonly orgId: OrgId;
  readonly after: Seq;
  readonly found: Seq;
}

/** The part of a batch that is new to a reader. */
export interface Sifted<Event> {
  readonly fresh: readonly Event[];
  /** Empty, unless the log is broken. Events before the first known seq of an org do not count as missing. */
  readonly gaps: readonly SequenceGap[];
  /** To be called once the fresh ones are handled. */
  readonly remember: () => void;
}

/**
 * The rule by which every reader of the log skips a byte-identical repeat: *ignore a record whose seq is not above the
 * last seen of its org.* Read by it, each org's seq is 1, 2, 3 … without a gap.
 */
export class SeqGate {
  readonly #lastSeen = new Map<OrgId, Seq>();

  /** Takes over what an earlier reader of the same projection had seen of the org. */
  resume(orgId: OrgId, lastSeen: Seq): void {
    this.#lastSeen.set(orgId, lastSeen);
  }

  /**
   * The records that are new to this reader. They count as seen from `remember` on, which is to be called once they
   * are handled: a reader that fails in between must be given them again.
   */
  sift<Event extends Sequenced>(events: readonly Event[]): Sifted<Event> {
    const seen = new Map<OrgId, Seq>();
    const gaps: SequenceGap[] = [];
    const fresh = events.filter(({ orgId, seq }) => {
      const after = seen.get(orgId) ?? this.#lastSeen.get(orgId) ?? SEQ_NONE;
      if (seq <= after) return false;
      if (after !== SEQ_NONE && seq !== after + 1) gaps.push({ orgId, after, found: seq });
      seen.set(orgId, seq);
      return true;
    });
    return {
      fresh,
      gaps,
      remember: () => {
        for (const [orgId, seq] of seen) this.#lastSeen.set(orgId, seq);
      },
    };
  }
}
