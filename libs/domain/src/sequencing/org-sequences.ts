import { nextSeq, SEQ_NONE, type OrgId, type Seq } from '../kernel/index.js';

/** The last seq of each org in a partition, in about 100 bytes an org. */
export class OrgSequences {
  readonly #lastSeqs = new Map<OrgId, Seq>();
  readonly #changed = new Set<OrgId>();

  get size(): number {
    return this.#lastSeqs.size;
  }

  /** Whether `takeChanged` would return an org. */
  get hasChanged(): boolean {
    return this.#changed.size > 0;
  }

  lastSeqOf(orgId: OrgId): Seq {
    return this.#lastSeqs.get(orgId) ?? SEQ_NONE;
  }

  /** Returns the seq of the org's next event, and counts it. */
  next(orgId: OrgId): Seq {
    const seq = nextSeq(this.lastSeqOf(orgId));
    this.#set(orgId, seq);
    this.#changed.add(orgId);
    return seq;
  }

  /**
   * Restores the org's last seq from a snapshot. Of an older one than the current state it only takes note: compaction
   * would keep that one, so the org counts as changed.
   */
  restore(orgId: OrgId, lastSeq: Seq): void {
    if (lastSeq < this.lastSeqOf(orgId)) {
      this.#changed.add(orgId);
      return;
    }
    this.#set(orgId, lastSeq);
    this.#changed.delete(orgId);
  }

  /** Sets the org's last seq to a repair's value, even if it is lower. */
  reset(orgId: OrgId, lastSeq: Seq): void {
    this.#set(orgId, lastSeq);
  }

  /**
   * Takes over a record that is in the log already.
   * @returns whether it is new; a record whose seq is not above the last one is a repeat
   */
  replay(orgId: OrgId, seq: Seq): boolean {
    if (seq <= this.lastSeqOf(orgId)) return false;
    this.#set(orgId, seq);
    this.#changed.add(orgId);
    return true;
  }

  /** Returns the last seqs of the orgs that changed since the last call. */
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
    // Copy a new org's text: it may be a slice that would keep a whole record in memory.
    this.#lastSeqs.set(this.#lastSeqs.has(orgId) ? orgId : ownText(orgId), seq);
  }
}

function ownText(orgId: OrgId): OrgId {
  return Buffer.from(orgId, 'latin1').toString('latin1') as OrgId;
}
