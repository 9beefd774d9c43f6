import { SEQ_NONE, type OrgId, type Seq } from '../kernel/index.js';

interface Sequenced {
  readonly orgId: OrgId;
  readonly seq: Seq;
}

/** A fault of the log: an org's seq is not followed by the next one. */
export interface SequenceGap {
  readonly orgId: OrgId;
  readonly after: Seq;
  readonly found: Seq;
}

/** The records of a batch that are new to a reader. */
export interface Sifted<Event> {
  readonly fresh: readonly Event[];
  /** Empty, unless the log is broken. Events before an org's first known seq do not count as missing. */
  readonly gaps: readonly SequenceGap[];
  /** Call it once the fresh records are handled. */
  readonly remember: () => void;
}

/**
 * Skips byte-identical repeats by the rule of all readers of the log: *ignore a record whose seq is not above the last
 * one of its org.* Each org's seq is then 1, 2, 3 … without a gap.
 */
export class SeqGate {
  readonly #lastSeen = new Map<OrgId, Seq>();

  /** Sets the last seq of the org that an earlier reader of the same projection has handled. */
  resume(orgId: OrgId, lastSeen: Seq): void {
    this.#lastSeen.set(orgId, lastSeen);
  }

  /**
   * Returns the records that are new to this reader. Call `remember` once they are handled. If the reader fails before
   * that, the next call returns them again.
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
