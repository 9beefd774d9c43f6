import { SEQ_NONE, type OrgId, type Position, type Seq } from '#libs/domain';
import { checkPositions, committedPositions, SEQUENCER_GROUP } from '#libs/kafka-log';
import type { Installation } from '../installation.js';
import type { InboxResume } from './inbox-resume.js';
import type { LogContents } from './log-contents.js';

/** Whether the log has lost records to retention that no checkpoint covers: last seqs of orgs are only in Postgres. */
export function areSeqsLost({ begin, checkpointedLogOffset }: LogContents): boolean {
  return begin > checkpointedLogOffset;
}

/** The last seq of an org that log and checkpoint know, before Postgres is asked. */
export function lastSeqIn({ begin, lastSeqs, checkpointedSeqs }: LogContents, orgId: OrgId): Seq {
  const last = lastSeqs.get(orgId) ?? SEQ_NONE;
  const checkpointed = checkpointedSeqs.get(orgId) ?? SEQ_NONE;
  // A log that still has its first record needs nothing else.
  return begin > 0 && checkpointed > last ? checkpointed : last;
}

/** The last seq of each org of a partition: the greatest that log, checkpoint and Postgres know. */
export function greatestSeqs(log: LogContents, heads: ReadonlyMap<OrgId, Seq>): ReadonlyMap<OrgId, Seq> {
  const orgs = new Set([...log.lastSeqs.keys(), ...log.checkpointedSeqs.keys(), ...heads.keys()]);
  return new Map(
    [...orgs].map((orgId) => {
      const [last, head] = [lastSeqIn(log, orgId), heads.get(orgId) ?? SEQ_NONE];
      return [orgId, head > last ? head : last];
    }),
  );
}

/** How many records were removed from the log before Postgres read them: nobody knows their seqs. */
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

/** Records before the known place were sequenced, even if neither log nor feed has them any more. */
export function resumeBehind({ inboxOffset }: LogContents, inbox: InboxResume): InboxResume {
  if (inboxOffset > inbox.end || inbox.offset >= inboxOffset) return inbox;
  return { ...inbox, offset: inboxOffset, skipped: 0, skippedByOrg: new Map() };
}
