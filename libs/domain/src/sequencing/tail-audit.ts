import { nextSeq, type OrgId, type Seq } from '../kernel/index.js';

/** Orgs of a partition whose last seq is remembered; the ones that are forgotten begin anew. */
const REMEMBERED_ORGS = 20_000;

/** What was found so far; each figure only grows. */
export interface TailFigures {
  /** Records that were looked at. */
  readonly checked: number;
  /** Where an org's seq did not follow the one before it. */
  readonly gaps: number;
  /** Records whose seq was not above the last seen: readers skip them. */
  readonly repeats: number;
}

/** Where a seq did not follow. */
export interface TailGap {
  readonly orgId: OrgId;
  readonly expected: Seq;
  readonly seq: Seq;
}

/** What was found of a batch. */
export interface TailFindings<Record> {
  readonly gaps: readonly TailGap[];
  /** The last of the batch that is certainly no repeat. */
  readonly latest: Record | undefined;
}

interface TailRecord {
  readonly offset: number;
  readonly orgId: OrgId;
  readonly seq: Seq;
}

/** Looks at the records of the log as they pass, in little memory: what it saw last of each org is all that it knows. */
export class TailAudit {
  readonly #partitions = new Map<number, { nextOffset: number; lastSeen: Map<OrgId, Seq> }>();
  readonly #figures = { checked: 0, gaps: 0, repeats: 0 };

  get figures(): TailFigures {
    return this.#figures;
  }

  /** @param records of one partition, ascending; those that were looked at before are left out */
  add<Record extends TailRecord>(partition: number, records: readonly Record[]): TailFindings<Record> {
    const known = this.#partitions.get(partition);
    const firstOffset = records[0]?.offset ?? 0;
    // Beyond what is known, somebody else has had the partition meanwhile.
    const continues = known !== undefined && firstOffset <= known.nextOffset;
    const state = continues ? known : { nextOffset: firstOffset, lastSeen: new Map<OrgId, Seq>() };
    if (records.length > 0) this.#partitions.set(partition, state);
    const gaps: TailGap[] = [];
    let latest: Record | undefined;
    for (const record of records) {
      if (record.offset < state.nextOffset) continue;
      state.nextOffset = record.offset + 1;
      const last = this.#look(state.lastSeen, record);
      if (last === undefined || record.seq <= last) continue;
      latest = record;
      if (record.seq > nextSeq(last)) gaps.push({ orgId: record.orgId, expected: nextSeq(last), seq: record.seq });
    }
    this.#figures.gaps += gaps.length;
    return { gaps, latest };
  }

  /** @returns the seq that was seen last of the org, if any was */
  #look(lastSeen: Map<OrgId, Seq>, { orgId, seq }: TailRecord): Seq | undefined {
    this.#figures.checked++;
    const last = lastSeen.get(orgId);
    if (last !== undefined && seq <= last) {
      this.#figures.repeats++;
      return last;
    }
    if (last === undefined && lastSeen.size >= REMEMBERED_ORGS) lastSeen.clear();
    lastSeen.set(orgId, seq);
    return last;
  }
}
