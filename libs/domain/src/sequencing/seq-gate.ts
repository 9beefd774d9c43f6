import { SEQ_NONE, type OrgId, type Seq } from '../kernel/index.js';

/**
 * The rule by which every reader of the log skips a byte-identical repeat: *ignore a record whose seq is not above the
 * last seen of its org.* Read by it, each org's seq is 1, 2, 3 … without a gap.
 */
export class SeqGate {
  readonly #lastSeen = new Map<OrgId, Seq>();

  /** Whether the record is new to this reader; if so, it is the last seen from here on. */
  admits(orgId: OrgId, seq: Seq): boolean {
    if (seq <= this.lastSeen(orgId)) return false;
    this.#lastSeen.set(orgId, seq);
    return true;
  }

  lastSeen(orgId: OrgId): Seq {
    return this.#lastSeen.get(orgId) ?? SEQ_NONE;
  }

  /** Takes over what an earlier reader of the same projection had seen. */
  resume(orgId: OrgId, lastSeen: Seq): void {
    this.#lastSeen.set(orgId, lastSeen);
  }
}
