import { SEQ_NONE, type OrgId, type Seq } from '#libs/domain';
import type { InboxResume } from './inbox-resume.js';
import { resumedSeqs, type ResumedLog } from './lost-seqs.js';

/** Seqs of an org whose events are lost everywhere. */
export interface GoneSeqs {
  readonly orgId: OrgId;
  readonly first: Seq;
  readonly last: Seq;
  /** Whether later events get them. Without the seqs that the log began with, later events come after them. */
  readonly areGivenAgain: boolean;
}

/** The events of a partition that are lost for good: they are not in the log, the inbox or Postgres. */
export interface GoneEvents {
  /** How many records the log lost for good, as far as any source remembers them. */
  readonly records: number;
  /** The lost seqs of each org, as far as a checkpoint covered them. */
  readonly seqs: readonly GoneSeqs[];
  /** How many records the inbox lost. Those that the log does not have are lost for good. */
  readonly inboxRecords: number;
}

/** The state of a partition, as far as its lost events depend on it. */
interface LostStretch extends ResumedLog {
  readonly inbox: InboxResume;
  readonly putBack: { readonly count: number };
  readonly isLogBehind: boolean;
}

/** @param knownEnd the greatest end of the log that a reader or the checkpoint remembers */
export function goneEvents(stretch: LostStretch, heads: ReadonlyMap<OrgId, Seq>, knownEnd: number): GoneEvents {
  const { log, inbox, putBack, isLogBehind } = stretch;
  const inboxRecords = Math.max(0, log.inboxOffset - inbox.end);
  // Records that retention removed are not lost: Postgres has read them.
  if (!isLogBehind && log.end >= knownEnd) return { records: 0, seqs: [], inboxRecords };
  const resumed = resumedSeqs(stretch);
  const lost = [...log.checkpointedSeqs]
    .map(([orgId, last]) => {
      const known = Math.max(log.lastSeqs.get(orgId) ?? SEQ_NONE, heads.get(orgId) ?? SEQ_NONE);
      const inInbox = inbox.skippedByOrg.get(orgId) ?? 0;
      return { orgId, last, known, inInbox, events: last - known - inInbox };
    })
    .filter(({ events }) => events > 0);
  const seqs = lost.map(({ orgId, last, known, inInbox }): GoneSeqs => {
    const areGivenAgain = (resumed.get(orgId) ?? last) < last;
    // The events that the inbox still has get the first of them, or seqs after all of them.
    const first = known + (areGivenAgain ? inInbox : 0) + 1;
    return { orgId, first: first as Seq, last, areGivenAgain };
  });
  const bySeqs = lost.reduce((sum, { events }) => sum + events, 0);
  return {
    records: Math.max(bySeqs, knownEnd - log.end - putBack.count - inbox.skipped),
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
  for (const { orgId, first, last, areGivenAgain } of seqs) {
    const then = areGivenAgain ? 'later events get these seqs' : 'later events come after them';
    lines.push(`    org ${orgId}: seq ${first} to ${last} are gone for good, and ${then}`);
  }
  return lines;
}
