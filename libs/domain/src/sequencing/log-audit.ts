import { Fingerprints, nextSeq, SEQ_NONE, type EventId, type OrgId, type Seq } from '../kernel/index.js';

/** The members of a log record that determine its place in the sequence. */
export interface SequencedRecord {
  readonly orgId: OrgId;
  readonly seq: Seq;
  readonly id: EventId;
}

/** How a record relates to the previous records of its org. */
export type LogFinding =
  /** The seq is the expected one. */
  | { readonly kind: 'next' }
  /** The seq is not above the last one: readers skip the record. */
  | { readonly kind: 'repeat' }
  /** Events are missing before it. */
  | { readonly kind: 'gap'; readonly expected: Seq }
  /** The id was given to an earlier event. */
  | { readonly kind: 'repeated_id' }
  /** The seq is before the start of the audit. */
  | { readonly kind: 'before' };

/** The audit's figures for one org. */
export interface OrgAudit {
  readonly orgId: OrgId;
  readonly firstSeq: Seq;
  readonly lastSeq: Seq;
  /** The number of gaps, and of missing seqs. */
  readonly gaps: number;
  readonly missing: number;
  readonly repeats: number;
  readonly repeatedIds: number;
}

export interface LogAuditOptions {
  /** Whether the partition still holds its first record, so that each org must start at seq 1. */
  readonly isWhole: boolean;
  /** The first seq of the audit. Records below it only count for the order. */
  readonly from: Seq;
}

/** Judges the records of one partition of the log in order: each org's seq must be 1, 2, 3 … */
export class LogAudit {
  readonly #lastSeen = new Map<OrgId, Seq>();
  readonly #orgs = new Map<OrgId, { -readonly [Figure in keyof OrgAudit]: OrgAudit[Figure] }>();
  readonly #ids = new Fingerprints();
  /** The orgs that may go on at any later seq. */
  readonly #cut = new Set<OrgId>();
  #isWhole: boolean;

  constructor(private readonly options: LogAuditOptions) {
    this.#isWhole = options.isWhole;
  }

  /** The figures of each org, without records before `from`. */
  get orgs(): readonly OrgAudit[] {
    return [...this.#orgs.values()];
  }

  /** Retention has removed records before the next one. They are no gap. */
  beginAgain(): void {
    this.#isWhole = false;
    for (const orgId of this.#lastSeen.keys()) this.#cut.add(orgId);
  }

  /**
   * @param isPutBack whether a repair put the record back. The first one of an org may then have any seq, since
   *   retention may have removed those before it from the feed.
   */
  add({ orgId, seq, id }: SequencedRecord, isPutBack = false): LogFinding {
    // The log was lost from its first record on, also for orgs of which nothing could be put back.
    if (isPutBack && this.#lastSeen.size === 0) this.#isWhole = false;
    const expected = this.#expected(orgId, seq, isPutBack);
    const isRepeat = seq < expected;
    const isCut = !isRepeat && this.#cut.delete(orgId);
    if (!isRepeat) this.#lastSeen.set(orgId, seq);
    const isNewId = isRepeat || this.#ids.add(`${orgId}/${id}`);
    if (seq < this.options.from) return { kind: 'before' };
    const org = this.#org(orgId, seq);
    if (isRepeat) {
      org.repeats++;
      return { kind: 'repeat' };
    }
    org.lastSeq = seq;
    if (isCut) [org.firstSeq, org.missing] = [seq, 0];
    if (seq > expected) {
      org.gaps++;
      org.missing += seq - expected;
    }
    if (!isNewId) org.repeatedIds++;
    if (seq > expected) return { kind: 'gap', expected };
    return isNewId ? { kind: 'next' } : { kind: 'repeated_id' };
  }

  #expected(orgId: OrgId, seq: Seq, isPutBack: boolean): Seq {
    const last = this.#lastSeen.get(orgId);
    if (last === undefined) return this.#isWhole && !isPutBack ? nextSeq(SEQ_NONE) : seq;
    return seq > last && this.#cut.has(orgId) ? seq : nextSeq(last);
  }

  #org(orgId: OrgId, seq: Seq) {
    let org = this.#orgs.get(orgId);
    if (org === undefined) {
      org = { orgId, firstSeq: seq, lastSeq: seq, gaps: 0, missing: 0, repeats: 0, repeatedIds: 0 };
      this.#orgs.set(orgId, org);
    }
    return org;
  }
}
