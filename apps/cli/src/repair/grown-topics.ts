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
    const unseen = isInbox
      ? await readUnseen(
          installation,
          surplus.map(([partition]) => partition),
        )
      : [];
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

/** Reads the records that the sequencer has not read. It has put the others into the dead letters. */
async function readUnseen(
  { connection, topics, config }: Installation,
  partitions: readonly number[],
): Promise<readonly StoredRecord[]> {
  const group = `${config.topicPrefix}-${SEQUENCER_GROUP}`;
  const seen = await new LogPositions(connection).committed(group, topics.inbox);
  const records: StoredRecord[] = [];
  await readPartitions(
    connection,
    partitions.map((partition) => ({ topic: topics.inbox, partition, from: seen.get(partition) ?? 0 })),
    (record) => records.push(record),
    { unreadable: 'given' },
  );
  return records;
}

/**
 * Moves the records to the partitions of their keys, then lets processes start. If an interrupted run has moved a
 * record already, it comes twice, and the sequencer drops the repeat.
 */
export async function settleGrownTopics(
  { connection, topics, config }: Installation,
  grown: readonly GrownTopic[],
): Promise<void> {
  if (grown.length === 0) return;
  const writer = new PartitionWriter(connection);
  try {
    for (const { topic, misplaced } of grown) await moveRecords(writer, topic, misplaced, config.partitions);
  } finally {
    await writer.close();
  }
  const places = new Map(
    grown.flatMap(({ misplaced }) => misplaced.map(({ partition, offset }) => [partition, offset + 1])),
  );
  if (places.size > 0) await moveGroup(connection, `${config.topicPrefix}-${SEQUENCER_GROUP}`, topics.inbox, places);
  const accepted = new Map(grown.map(({ topic, partitions }) => [topic, partitions]));
  await new InstallationTopic(connection, topics.installation).accept(accepted);
}

async function moveRecords(
  writer: PartitionWriter,
  topic: string,
  records: readonly StoredRecord[],
  partitions: number,
): Promise<void> {
  const byPlace = new Map<number, NewRecord[]>();
  for (const { key, value, headers } of records) {
    const place = partitionOf(key ?? '', partitions);
    // The stamp is an offset of another log partition, so it is left out.
    const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => name !== CHECKED_TO_HEADER));
    const moved = byPlace.get(place) ?? [];
    moved.push({ topic, key, value, headers: kept });
    byPlace.set(place, moved);
  }
  for (const [place, moved] of byPlace) {
    for (const stretch of stretchesOf(moved, { bytes: REQUEST_BYTES, records: PRODUCE_RECORDS })) {
      await writer.write(topic, place, stretch);
    }
  }
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
