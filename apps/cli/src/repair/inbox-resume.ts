import { parseEndpointId } from '#libs/domain';
import { parseInboxValue } from '#libs/event-validation';
import { partitionOf, readPartitions, TARGET_ENDPOINT_HEADER, type StoredRecord } from '#libs/kafka-log';
import type { Installation } from '../installation.js';
import { idKey, type LogContents } from './log-contents.js';

/** Where sequencing has to go on in an inbox partition. */
export interface InboxResume {
  /** The offset of the first event that the log does not have; the end, if it has all. */
  readonly offset: number;
  readonly end: number;
  /** Events that a sequencer would skip today. */
  readonly skipped: number;
}

/** Reads the inbox, and finds the first event of each partition that the log does not have. */
export async function findInboxResumes(
  { connection, topics, config }: Installation,
  contents: readonly LogContents[],
): Promise<ReadonlyMap<number, InboxResume>> {
  const first = new Map<number, number>();
  const skipped = new Map<number, number>();
  const byPartition = new Map(contents.map((of) => [of.partition, of]));
  const ends = await readPartitions(
    connection,
    contents.map(({ partition }) => ({ topic: topics.inbox, partition, from: 0 })),
    (record) => {
      const of = byPartition.get(record.partition);
      const key = keyOf(record, config.partitions);
      if (of === undefined || key === undefined || of.ids.has(key)) return;
      if (!first.has(record.partition)) first.set(record.partition, record.offset);
      if (record.offset < of.inboxOffset) skipped.set(record.partition, (skipped.get(record.partition) ?? 0) + 1);
    },
  );
  return new Map(
    contents.map(({ partition }) => {
      const end = ends.get(`${topics.inbox}/${partition}`) ?? 0;
      return [partition, { offset: first.get(partition) ?? end, end, skipped: skipped.get(partition) ?? 0 }];
    }),
  );
}

/** `undefined` for what goes to the dead letters. */
function keyOf(record: StoredRecord, partitions: number): string | undefined {
  const allowTest = parseEndpointId(record.headers[TARGET_ENDPOINT_HEADER]) !== undefined;
  const reading = parseInboxValue(record.value, record.key, record.timestampMs, { allowTest });
  if (!reading.ok || partitionOf(reading.event.orgId, partitions) !== record.partition) return undefined;
  return idKey(reading.event.orgId, reading.event.id);
}
