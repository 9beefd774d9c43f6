import { SEQ_NONE, type OrgId, type Seq } from '../kernel/index.js';

interface Sequenced {
  readonly orgId: OrgId;
  readonly seq: Seq;
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
  sift<Event extends Sequenced>(
    events: readonly Event[],
  ): { readonly fresh: readonly Event[]; readonly remember: () => void } {
    const seen = new Map<OrgId, Seq>();
    const fresh = events.filter(({ orgId, seq }) => {
      if (seq <= (seen.get(orgId) ?? this.#lastSeen.get(orgId) ?? SEQ_NONE)) return false;
      seen.set(orgId, seq);
      return true;
    });
    return {
      fresh,
      remember: () => {
        for (const [orgId, seq] of seen) this.#lastSeen.set(orgId, seq);
      },
    };
  }
}
