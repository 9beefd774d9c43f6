import { randomUUID } from 'node:crypto';
import type { Consumer } from 'kafkajs';
import { fixedAssignment } from '../kafkajs/fixed-assignment.js';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import { LARGEST_BATCH_BYTES } from '../topics/limits.js';
import type { Positions } from './log-positions.js';
import { toReadableRecord, type StoredRecord } from '../records/record.js';

/** How long a fetch waits at the broker for records, milliseconds; the broker answers as soon as there are any. */
const FETCH_WAIT_MS = 200;

/** Returns the offsets to start at: the requested ones, or the first existing record if that is later. */
async function startsOf(connection: KafkaConnection, topic: string, from: Positions): Promise<Map<number, number>> {
  const kept = await connection.withAdmin((admin) => admin.fetchTopicOffsets(topic));
  const starts = new Map<number, number>();
  for (const [partition, offset] of from) {
    const low = kept.find((entry) => entry.partition === partition)?.low;
    if (low === undefined) throw new Error(`${topic} has no partition ${partition}`);
    starts.set(partition, Math.max(offset, Number(low)));
  }
  return starts;
}

async function consume(
  consumer: Consumer,
  topic: string,
  next: Map<number, number>,
  onRecord: (record: StoredRecord) => void,
  signal: AbortSignal,
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => {
      resolve();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const fail = (error: unknown) => {
      signal.removeEventListener('abort', onAbort);
      reject(error instanceof Error ? error : new Error(String(error)));
    };
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      // Otherwise kafkajs restarts itself, and continues at the places below.
      if (!payload.restart) fail(payload.error);
    });
    // Runs before the first fetch of every generation.
    consumer.on(consumer.events.GROUP_JOIN, () => {
      for (const [partition, offset] of next) consumer.seek({ topic, partition, offset: String(offset) });
    });
    consumer
      .run({
        autoCommit: false,
        eachBatch: ({ batch }) => {
          try {
            for (const message of batch.messages) {
              const record = toReadableRecord(topic, batch.partition, message);
              if (signal.aborted || record.offset < (next.get(batch.partition) ?? 0)) continue;
              onRecord(record);
              next.set(batch.partition, record.offset + 1);
            }
          } catch (error) {
            fail(error);
          }
          return Promise.resolve();
        },
      })
      .catch(fail);
  });
}

/**
 * Reads partitions of a topic from the given offsets on, each in order, and waits for new records until the signal is
 * aborted. Commits nothing.
 * @throws any error of `onRecord`, and an error if the brokers or the topic cannot be reached at the start
 */
export async function followPartitions(
  connection: KafkaConnection,
  topic: string,
  from: Positions,
  onRecord: (record: StoredRecord) => void,
  signal: AbortSignal,
): Promise<void> {
  const next = await startsOf(connection, topic, from);
  if (signal.aborted) return;
  const groupId = `gapless-follower-${randomUUID()}`;
  const consumer = connection.kafka.consumer({
    groupId,
    partitionAssigners: [fixedAssignment(new Map([[topic, [...next.keys()]]]))],
    maxBytesPerPartition: LARGEST_BATCH_BYTES,
    maxWaitTimeInMs: FETCH_WAIT_MS,
  });
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consume(consumer, topic, next, onRecord, signal);
  } finally {
    await consumer.disconnect();
    // The group was for this reader only. If deleting fails, it expires by itself.
    await connection.withAdmin((admin) => admin.deleteGroups([groupId])).catch(() => undefined);
  }
}
