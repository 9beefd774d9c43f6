import { SEQ_NONE, type OrgId, type Seq } from '#libs/domain';
import type { InboxResume } from './inbox-resume.js';
import type { LogContents } from './log-contents.js';

/** Seqs that an org had, and whose events nothing has any more. */
export interface GoneSeqs {
  readonly orgId: OrgId;
  readonly first: Seq;
  readonly last: Seq;
}

/** The events of a partition that are lost for good: neither log, inbox nor Postgres have them. */
export interface GoneEvents {
  /** How many records the log had that do not come back, as far as anything remembers. */
  readonly records: number;
  /** By org, as far as a checkpoint covered them. */
  readonly seqs: readonly GoneSeqs[];
  /** How many records the inbox lost; those that the log does not have are gone. */
  readonly inboxRecords: number;
}

/** What of a partition a repair has to go by. */
interface LostStretch {
  readonly log: LogContents;
  readonly inbox: InboxResume;
  readonly putBack: { readonly length: number };
  readonly isLogBehind: boolean;
}

/** @param knownEnd how far the log went, by all that read it */
export function goneEvents(
  { log, inbox, putBack, isLogBehind }: LostStretch,
  heads: ReadonlyMap<OrgId, Seq>,
  knownEnd: number,
): GoneEvents {
  const inboxRecords = Math.max(0, log.inboxOffset - inbox.end);
  // What retention has removed is not gone: Postgres had it.
  if (!isLogBehind && log.end >= knownEnd) return { records: 0, seqs: [], inboxRecords };
  const seqs = [...log.checkpointedSeqs].flatMap(([orgId, given]): readonly GoneSeqs[] => {
    const known = Math.max(log.lastSeqs.get(orgId) ?? SEQ_NONE, heads.get(orgId) ?? SEQ_NONE);
    const first = known + (inbox.skippedByOrg.get(orgId) ?? 0) + 1;
    return first > given ? [] : [{ orgId, first: first as Seq, last: given }];
  });
  const bySeqs = seqs.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  return {
    records: Math.max(bySeqs, knownEnd - log.end - putBack.length - inbox.skipped),
    seqs,
    inboxRecords,
  };
}

/** For people. */
export function goneLines({ records, seqs, inboxRecords }: GoneEvents): readonly string[] {
  const lines: string[] = [];
  if (inboxRecords > 0) {
    lines.push(
      `  the inbox lost ${inboxRecords} records that were read, and maybe later ones: events that were accepted there and not sequenced are gone for good; their services have to send them again`,
    );
  }
  if (records > 0) {
    lines.push(`  ${records} events of the log are gone for good: neither Kafka nor Postgres has them`);
  }
  for (const { orgId, first, last } of seqs) {
    lines.push(`    org ${orgId}: seq ${first} to ${last} are gone for good, and later events get these seqs`);
  }
  return lines;
}
