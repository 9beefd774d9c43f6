import { nextSeq, SEQ_NONE, type OrgId, type Seq } from '../kernel/index.js';

/** The last seq of each org of a partition: about 100 bytes an org. */
export class OrgSequences {
  readonly #lastSeqs = new Map<OrgId, Seq>();
  readonly #changed = new Set<OrgId>();

  get size(): number {
    return this.#lastSeqs.size;
  }

  lastSeqOf(orgId: OrgId): Seq {
    return this.#lastSeqs.get(orgId) ?? SEQ_NONE;
  }

  /** Gives the next event of the org its seq. */
  next(orgId: OrgId): Seq {
    const seq = nextSeq(this.lastSeqOf(orgId));
    this.#set(orgId, seq);
    this.#changed.add(orgId);
    return seq;
  }

  /** Takes over a snapshot; an older one than what is known changes nothing. */
  restore(orgId: OrgId, lastSeq: Seq): void {
    if (lastSeq > this.lastSeqOf(orgId)) this.#set(orgId, lastSeq);
  }

  /** Takes over what a repair has written, even if more was known. */
  reset(orgId: OrgId, lastSeq: Seq): void {
    this.#set(orgId, lastSeq);
  }

  /**
   * Takes over a record that is in the log already.
   * @returns whether it is new: one whose seq is not above the last seen is a repeat
   */
  replay(orgId: OrgId, seq: Seq): boolean {
    if (seq <= this.lastSeqOf(orgId)) return false;
    this.#set(orgId, seq);
    this.#changed.add(orgId);
    return true;
  }

  /** The orgs that changed since the last call, as they are now. */
  takeChanged(): ReadonlyMap<OrgId, Seq> {
    const changed = new Map<OrgId, Seq>();
    for (const orgId of this.#changed) changed.set(orgId, this.lastSeqOf(orgId));
    this.#changed.clear();
    return changed;
  }

  /** Makes the next `takeChanged` return every org. */
  markAllChanged(): void {
    for (const orgId of this.#lastSeqs.keys()) this.#changed.add(orgId);
  }

  #set(orgId: OrgId, seq: Seq): void {
    // The text of a new org may be a part of a whole record, which would stay in memory with it.
    this.#lastSeqs.set(this.#lastSeqs.has(orgId) ? orgId : ownText(orgId), seq);
  }
}

function ownText(orgId: OrgId): OrgId {
  return Buffer.from(orgId, 'latin1').toString('latin1') as OrgId;
}
