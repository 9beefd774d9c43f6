import { idFingerprint, type EventId, type OrgId } from '#libs/domain';
import { FeedRepair } from '#libs/postgres';
import { partitionOf, readPartitions, type StoredRecord } from '#libs/kafka-log';
import type { Installation } from '../installation.js';
import { inboxEventOf } from './inbox-event.js';
import type { LogContents } from './log-contents.js';

/** The place where sequencing resumes in an inbox partition. */
export interface InboxResume {
  /** The offset of the first event that the log does not have; the end, if it has all of them. */
  readonly offset: number;
  readonly end: number;
  /** How many missing events are before the sequencer's present place, so that it would skip them. */
  readonly skipped: number;
  /** How many skipped events each org has. */
  readonly skippedByOrg: ReadonlyMap<OrgId, number>;
}

/** An event of the inbox that the log does not have. */
interface Missing {
  readonly offset: number;
  readonly orgId: OrgId;
  readonly id: EventId;
}

/**
 * Reads the inbox, and finds the first event of each partition that the log does not have. Events that the log has lost
 * to retention are in Postgres.
 */
export async function findInboxResumes(
  { connection, topics, config, store }: Installation,
  contents: readonly LogContents[],
): Promise<ReadonlyMap<number, InboxResume>> {
  const missing = new Map<number, Missing[]>();
  const byPartition = new Map(contents.map((of) => [of.partition, of]));
  const ends = await readPartitions(
    connection,
    contents.map(({ partition }) => ({ topic: topics.inbox, partition, from: 0 })),
    (record) => {
      const of = byPartition.get(record.partition);
      const event = eventOf(record, config.partitions);
      if (of === undefined || event === undefined || of.ids.has(idFingerprint(event.orgId, event.id))) return;
      const known = missing.get(record.partition) ?? [];
      known.push({ offset: record.offset, ...event });
      missing.set(record.partition, known);
    },
    { unreadable: 'given' },
  );
  const resumes = new Map<number, InboxResume>();
  for (const { partition, begin, inboxOffset } of contents) {
    const end = ends.get(`${topics.inbox}/${partition}`) ?? 0;
    let found: readonly Missing[] = missing.get(partition) ?? [];
    if (begin > 0 && found.length > 0) {
      const absent = await new FeedRepair(store).without(found);
      found = found.filter((event) => absent.has(event));
    }
    const skipped = found.filter(({ offset }) => offset < inboxOffset);
    const skippedByOrg = new Map<OrgId, number>();
    for (const { orgId } of skipped) skippedByOrg.set(orgId, (skippedByOrg.get(orgId) ?? 0) + 1);
    resumes.set(partition, { offset: found[0]?.offset ?? end, end, skipped: skipped.length, skippedByOrg });
  }
  return resumes;
}

/** Returns the org and id of the event; `undefined` if the record belongs in the dead letters. */
function eventOf(record: StoredRecord, partitions: number): Omit<Missing, 'offset'> | undefined {
  const event = inboxEventOf(record);
  if (event === undefined || partitionOf(event.orgId, partitions) !== record.partition) return undefined;
  return { orgId: event.orgId, id: event.id };
}
