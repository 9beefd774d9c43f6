import { nextSeq, SEQ_NONE, type EventId, type OrgId, type Seq } from '../kernel/index.js';
import { RecentIds } from './recent-ids.js';

/** What the sequencer knows of one org: the result of folding the org's log up to some offset. */
export interface OrgSequence {
  readonly lastSeq: Seq;
  readonly recentIds: readonly EventId[];
}

export type Appending = { readonly kind: 'appended'; readonly seq: Seq } | { readonly kind: 'repeat' };

/**
 * The fold of one partition: which seq an event gets depends on the events before it and on nothing else, so whoever
 * folds the same inbox writes the same log. It runs ahead of what is written; after a write that is not certain it is
 * thrown away and restored from the log.
 */
export class OrgSequences {
  readonly #orgs = new Map<OrgId, { lastSeq: Seq; recentIds: RecentIds }>();
  readonly #changed = new Set<OrgId>();

  /** Gives the event the next seq of its org, unless its id is known (spec 2.2: unique, never reused). */
  append(orgId: OrgId, id: EventId): Appending {
    const org = this.#org(orgId);
    if (org.recentIds.has(id)) return { kind: 'repeat' };
    org.lastSeq = nextSeq(org.lastSeq);
    org.recentIds.add(id);
    this.#changed.add(orgId);
    return { kind: 'appended', seq: org.lastSeq };
  }

  /** Takes over a snapshot. */
  restore(orgId: OrgId, snapshot: OrgSequence): void {
    this.#orgs.set(orgId, { lastSeq: snapshot.lastSeq, recentIds: new RecentIds(snapshot.recentIds) });
  }

  /** Takes over a record that stands in the log already; one that is not above the last seen is a repeat. */
  replay(orgId: OrgId, seq: Seq, id: EventId): void {
    const org = this.#org(orgId);
    if (seq <= org.lastSeq) return;
    org.lastSeq = seq;
    org.recentIds.add(id);
    this.#changed.add(orgId);
  }

  /** The orgs that changed since the last call, as they are now. */
  takeChanged(): ReadonlyMap<OrgId, OrgSequence> {
    const changed = new Map<OrgId, OrgSequence>();
    for (const orgId of this.#changed) {
      const { lastSeq, recentIds } = this.#org(orgId);
      changed.set(orgId, { lastSeq, recentIds: recentIds.toArray() });
    }
    this.#changed.clear();
    return changed;
  }

  /** Makes the next `takeChanged` tell every org. */
  markAllChanged(): void {
    for (const orgId of this.#orgs.keys()) this.#changed.add(orgId);
  }

  #org(orgId: OrgId): { lastSeq: Seq; recentIds: RecentIds } {
    let org = this.#orgs.get(orgId);
    if (org === undefined) {
      org = { lastSeq: SEQ_NONE, recentIds: new RecentIds() };
      this.#orgs.set(orgId, org);
    }
    return org;
  }
}
