import { Fingerprints, nextSeq, SEQ_NONE, type EventId, type OrgId, type Seq } from '../kernel/index.js';

/** The members of a log record that its place in the sequence depends on. */
export interface SequencedRecord {
  readonly orgId: OrgId;
  readonly seq: Seq;
  readonly id: EventId;
}

/** How a record follows what came before it of its org. */
export type LogFinding =
  /** The next one, as it has to be. */
  | { readonly kind: 'next' }
  /** Not above the last seen: readers skip it. */
  | { readonly kind: 'repeat' }
  /** Events are missing before it. */
  | { readonly kind: 'gap'; readonly expected: Seq }
  /** The id was given to an earlier event. */
  | { readonly kind: 'repeated_id' }
  /** Before the seq at which the audit begins. */
  | { readonly kind: 'before' };

/** What the log contains of an org. */
export interface OrgAudit {
  readonly orgId: OrgId;
  readonly firstSeq: Seq;
  readonly lastSeq: Seq;
  /** Stretches of missing seqs, and how many seqs those are. */
  readonly gaps: number;
  readonly missing: number;
  readonly repeats: number;
  readonly repeatedIds: number;
}

export interface LogAuditOptions {
  /** Whether nothing of the partition has been removed yet, so that each org's first seq has to be 1. */
  readonly isWhole: boolean;
  /** Records of a lower seq count for the order alone. */
  readonly from: Seq;
}

/** Judges the records of one partition of the log in their order: each org's seq has to be 1, 2, 3 … */
export class LogAudit {
  readonly #lastSeen = new Map<OrgId, Seq>();
  readonly #orgs = new Map<OrgId, { -readonly [Figure in keyof OrgAudit]: OrgAudit[Figure] }>();
  readonly #ids = new Fingerprints();

  constructor(private readonly options: LogAuditOptions) {}

  /** The figures of each org, records before `from` left out. */
  get orgs(): readonly OrgAudit[] {
    return [...this.#orgs.values()];
  }

  add({ orgId, seq, id }: SequencedRecord): LogFinding {
    const expected = this.#expected(orgId, seq);
    const isRepeat = seq < expected;
    if (!isRepeat) this.#lastSeen.set(orgId, seq);
    const isNewId = isRepeat || this.#ids.add(`${orgId}/${id}`);
    if (seq < this.options.from) return { kind: 'before' };
    const org = this.#org(orgId, seq);
    if (isRepeat) {
      org.repeats++;
      return { kind: 'repeat' };
    }
    org.lastSeq = seq;
    if (seq > expected) {
      org.gaps++;
      org.missing += seq - expected;
    }
    if (!isNewId) org.repeatedIds++;
    if (seq > expected) return { kind: 'gap', expected };
    return isNewId ? { kind: 'next' } : { kind: 'repeated_id' };
  }

  #expected(orgId: OrgId, seq: Seq): Seq {
    const last = this.#lastSeen.get(orgId);
    if (last !== undefined) return nextSeq(last);
    return this.options.isWhole ? nextSeq(SEQ_NONE) : seq;
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
