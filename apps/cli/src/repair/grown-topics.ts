import { inboxValue, type InboxEvent } from '#libs/domain';
import {
  CHECKED_TO_HEADER,
  InstallationTopic,
  LogPositions,
  moveGroup,
  partitionOf,
  PartitionWriter,
  PRODUCE_RECORDS,
  readPartitions,
  REQUEST_BYTES,
  SEQUENCER_GROUP,
  stretchesOf,
  topicPlans,
  type NewRecord,
  type StoredRecord,
} from '#libs/kafka-log';
import type { Installation } from '../installation.js';
import { inboxEventOf } from './inbox-event.js';

/** A topic with more partitions than the installation has. */
export interface GrownTopic {
  readonly topic: string;
  readonly partitions: number;
  /** Inbox records in surplus partitions that the sequencer has not read. They move to the partitions of their keys. */
  readonly misplaced: readonly StoredRecord[];
  /**
   * How many records in surplus partitions are not ours: those of other topics, where no stage writes, and batches that
   * cannot be read.
   */
  readonly foreign: number;
  /** Whether processes start although the topic has surplus partitions. */
  readonly isAccepted: boolean;
}

/** Whether the topic needs a repair. */
export function needsSettling({ isAccepted, misplaced }: GrownTopic): boolean {
  return !isAccepted || misplaced.length > 0;
}

/** Finds the topics that have more partitions than the installation, and the records in the surplus ones. */
export async function findGrownTopics(installation: Installation): Promise<readonly GrownTopic[]> {
  const { connection, topics, config } = installation;
  const existing = new Set(await connection.withAdmin((admin) => admin.listTopics()));
  const positions = new LogPositions(connection);
  const { accepted } = await new InstallationTopic(connection, topics.installation).readAll();
  const grown: GrownTopic[] = [];
  for (const plan of topicPlans(topics, config)) {
    if (!existing.has(plan.topic)) continue;
    const bounds = await positions.bounds(plan.topic);
    if (bounds.size <= plan.partitions) continue;
    const surplus = [...bounds].filter(([partition]) => partition >= plan.partitions);
    const isInbox = plan.topic === topics.inbox;
    const held = surplus.reduce((sum, [, { begin, end }]) => sum + end - begin, 0);
    const unseen: StoredRecord[] = [];
    if (isInbox) {
      const partitions = surplus.map(([partition]) => partition);
      await readUnseen(installation, partitions, (record) => unseen.push(record));
    }
    const misplaced = unseen.filter(({ unreadable }) => unreadable === undefined);
    grown.push({
      topic: plan.topic,
      partitions: bounds.size,
      misplaced,
      foreign: isInbox ? unseen.length - misplaced.length : held,
      isAccepted: bounds.size <= (accepted.get(plan.topic) ?? 0),
    });
  }
  return grown;
}

/** Reads the inbox records that the sequencer has not read. It has put the others into the log or the dead letters. */
async function readUnseen(
  { connection, topics, config }: Installation,
  partitions: readonly number[],
  onRecord: (record: StoredRecord) => void,
): Promise<void> {
  const group = `${config.topicPrefix}-${SEQUENCER_GROUP}`;
  const seen = await new LogPositions(connection).committed(group, topics.inbox);
  await readPartitions(
    connection,
    partitions.map((partition) => ({ topic: topics.inbox, partition, from: seen.get(partition) ?? 0 })),
    onRecord,
    { unreadable: 'given' },
  );
}

/** Moves the records to the partitions of their keys, then lets processes start. */
export async function settleGrownTopics(installation: Installation, grown: readonly GrownTopic[]): Promise<void> {
  if (grown.length === 0) return;
  const { connection, topics, config } = installation;
  const records = grown.flatMap(({ misplaced }) => misplaced);
  if (records.length > 0) {
    await moveRecords(installation, records);
    const places = new Map(records.map(({ partition, offset }) => [partition, offset + 1]));
    await moveGroup(connection, `${config.topicPrefix}-${SEQUENCER_GROUP}`, topics.inbox, places);
  }
  const accepted = new Map(grown.map(({ topic, partitions }) => [topic, partitions]));
  await new InstallationTopic(connection, topics.installation).accept(accepted);
}

/**
 * Leaves out the events that an interrupted run has moved already. The sequencer drops repeats only if they come within
 * minutes.
 */
async function moveRecords(installation: Installation, records: readonly StoredRecord[]): Promise<void> {
  const { connection, topics, config } = installation;
  const byPlace = new Map<number, StoredRecord[]>();
  for (const record of records) {
    const place = partitionOf(record.key ?? '', config.partitions);
    const ofPlace = byPlace.get(place) ?? [];
    ofPlace.push(record);
    byPlace.set(place, ofPlace);
  }
  const moved = new Set<string>();
  await readUnseen(installation, [...byPlace.keys()], (record) => {
    const event = inboxEventOf(record);
    if (event !== undefined) moved.add(nameOf(event));
  });
  const writer = new PartitionWriter(connection);
  try {
    for (const [place, ofPlace] of byPlace) {
      const left = ofPlace
        .map((record) => ({ record, event: inboxEventOf(record) }))
        .filter(({ event }) => event === undefined || !moved.has(nameOf(event)))
        .map(({ record, event }) => movedRecord(topics.inbox, record, event));
      for (const stretch of stretchesOf(left, { bytes: REQUEST_BYTES, records: PRODUCE_RECORDS })) {
        await writer.write(topics.inbox, place, stretch);
      }
    }
  } finally {
    await writer.close();
  }
}

function nameOf({ orgId, id }: InboxEvent): string {
  return `${orgId}/${id}`;
}

function movedRecord(topic: string, { key, value, headers }: StoredRecord, event: InboxEvent | undefined): NewRecord {
  // The stamp is an offset of another log partition, so it is left out.
  const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => name !== CHECKED_TO_HEADER));
  // With `occurred_at`: its default is the record's timestamp, and the moved record gets another one.
  return { topic, key, value: event === undefined ? value : inboxValue(event), headers: kept };
}

/** For people. */
export function grownTopicLines({ topic, partitions, misplaced, foreign, isAccepted }: GrownTopic): readonly string[] {
  const lines = [`${topic} has ${partitions} partitions, more than the installation:`];
  if (misplaced.length > 0) {
    lines.push(`  ${misplaced.length} records in surplus partitions go to the partitions that their keys belong to`);
  }
  if (foreign > 0) lines.push(`  ${foreign} records in surplus partitions are not ours; they are left there`);
  if (!isAccepted) lines.push('  processes start on it again; the surplus partitions stay unused');
  return lines;
}
