import { SEQ_NONE, type OrgId, type Position, type Seq } from '#libs/domain';
import { checkPositions, committedPositions, SEQUENCER_GROUP } from '#libs/kafka-log';
import type { Installation } from '../installation.js';
import type { InboxResume } from './inbox-resume.js';
import type { LogContents } from './log-contents.js';

/**
 * Whether retention removed log records that no checkpoint covers. The last seqs of some orgs are then only in
 * Postgres.
 */
export function areSeqsLost({ begin, checkpointedLogOffset }: LogContents): boolean {
  return begin > checkpointedLogOffset;
}

/** Returns the last seq of an org according to log and checkpoint, without Postgres. */
export function lastSeqIn({ begin, lastSeqs, checkpointedSeqs }: LogContents, orgId: OrgId): Seq {
  const last = lastSeqs.get(orgId) ?? SEQ_NONE;
  const checkpointed = checkpointedSeqs.get(orgId) ?? SEQ_NONE;
  // A log that still has its first record has every seq.
  return begin > 0 && checkpointed > last ? checkpointed : last;
}

/** Returns the last seq of each org of a partition: the greatest in log, checkpoint and Postgres. */
export function greatestSeqs(log: LogContents, heads: ReadonlyMap<OrgId, Seq>): ReadonlyMap<OrgId, Seq> {
  const orgs = new Set([...log.lastSeqs.keys(), ...log.checkpointedSeqs.keys(), ...heads.keys()]);
  return new Map(
    [...orgs].map((orgId) => {
      const [last, head] = [lastSeqIn(log, orgId), heads.get(orgId) ?? SEQ_NONE];
      return [orgId, head > last ? head : last];
    }),
  );
}

/**
 * Returns the last seq of each org of which a log that went back has no event, but a checkpoint, or Postgres a head. The
 * checkpoint is of events that are sequenced again. Without its first record, and without Postgres, the log does not say where
 * the org began: then the checkpoint stays, because a gap is better than a seq that comes twice.
 */
export function seqsWithoutEvents(
  { begin, lastSeqs, checkpointedSeqs }: LogContents,
  heads: ReadonlyMap<OrgId, Seq>,
): ReadonlyMap<OrgId, Seq> {
  const seqs = new Map<OrgId, Seq>();
  for (const orgId of new Set([...checkpointedSeqs.keys(), ...heads.keys()])) {
    const seq = heads.get(orgId) ?? (begin === 0 ? SEQ_NONE : undefined);
    if (!lastSeqs.has(orgId) && seq !== undefined) seqs.set(orgId, seq);
  }
  return seqs;
}

/** What says where sequencing goes on in a partition. */
export interface ResumedLog {
  readonly log: LogContents;
  readonly seqsWithoutEvents: ReadonlyMap<OrgId, Seq>;
  readonly lostSeqs: ReadonlyMap<OrgId, Seq>;
}

/** Returns the last seqs from which sequencing goes on, without those of events that come back from Postgres. */
export function resumedSeqs({ log, seqsWithoutEvents, lostSeqs }: ResumedLog): Map<OrgId, Seq> {
  return new Map([...seqsWithoutEvents, ...log.lastSeqs, ...lostSeqs]);
}

/** Returns how many records the log lost before Postgres read them. Their seqs are unknown. */
export function unreadRecords({ begin }: LogContents, feed: Position | undefined): number {
  return Math.max(0, begin - (feed?.next ?? 0));
}

/** Sets the place in the inbox to the sequencers' committed offset, unless checkpoint or log have a later one. */
export async function readInboxPlaces(
  { connection, topics, config }: Installation,
  contents: readonly LogContents[],
): Promise<void> {
  const lost = contents.filter(areSeqsLost);
  if (lost.length === 0) return;
  const group = `${config.topicPrefix}-${SEQUENCER_GROUP}`;
  const partitions = lost.map(({ partition }) => partition);
  const committed = await committedPositions(connection, group)(topics.inbox, partitions);
  const checked = await checkPositions(connection, topics.inbox, committed);
  for (const log of lost) {
    if (checked.get(log.partition)?.verdict.kind === 'went back') continue;
    log.inboxOffset = Math.max(log.inboxOffset, committed.get(log.partition)?.next ?? 0);
  }
}

/** Returns where to resume. Records before the known place were sequenced, even if log and feed no longer have them. */
export function resumeBehind({ inboxOffset }: LogContents, inbox: InboxResume): InboxResume {
  if (inboxOffset > inbox.end || inbox.offset >= inboxOffset) return inbox;
  return { ...inbox, offset: inboxOffset, skipped: 0, skippedByOrg: new Map() };
}
