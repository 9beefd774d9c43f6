import { randomUUID } from 'node:crypto';
import type { Consumer } from 'kafkajs';
import { fixedAssignment } from '../kafkajs/fixed-assignment.js';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import { LARGEST_BATCH_BYTES } from '../topics/limits.js';
import { topicBounds, type Positions } from './log-positions.js';
import { toReadableRecord, type RecordBatch, type StoredRecord } from '../records/record.js';
import { REBALANCE_TIMEOUT_MS, RECORDS_AT_ONCE } from './read-partitions.js';

/** How long a fetch waits at the broker for records, milliseconds; the broker answers as soon as there are any. */
const FETCH_WAIT_MS = 200;

/** Returns the offsets to start at: the requested ones, or the first existing record if that is later. */
async function startsOf(connection: KafkaConnection, topic: string, from: Positions): Promise<Map<number, number>> {
  const kept = topicBounds(topic, await connection.withAdmin((admin) => admin.fetchTopicOffsets(topic)));
  const starts = new Map<number, number>();
  for (const [partition, offset] of from) {
    const begin = kept.get(partition)?.begin;
    if (begin === undefined) throw new Error(`${topic} has no partition ${partition}`);
    starts.set(partition, Math.max(offset, begin));
  }
  return starts;
}

async function consume(
  consumer: Consumer,
  topic: string,
  next: Map<number, number>,
  onRecords: (batch: RecordBatch) => Promise<void>,
  signal: AbortSignal,
  atOnce: number,
): Promise<void> {
  // It may have been aborted while the consumer connected.
  if (signal.aborted) return;
  await new Promise<void>((resolve, reject) => {
    let hasFailed = false;
    const onAbort = () => {
      resolve();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const fail = (error: unknown) => {
      hasFailed = true;
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
        partitionsConsumedConcurrently: atOnce,
        eachBatch: async (payload) => {
          const { partition } = payload.batch;
          const from = next.get(partition) ?? 0;
          const messages = payload.batch.messages.filter(({ offset }) => Number(offset) >= from);
          for (let at = 0; at < messages.length && !signal.aborted && !hasFailed; at += RECORDS_AT_ONCE) {
            const some = messages.slice(at, at + RECORDS_AT_ONCE);
            try {
              const records = some.map((message) => toReadableRecord(topic, partition, message));
              await onRecords({ topic, partition, records });
            } catch (error) {
              fail(error);
              return;
            }
            next.set(partition, Number(some.at(-1)?.offset) + 1);
            // After an error, kafkajs joins the group again.
            await payload.heartbeat();
          }
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
  const onRecords = ({ records }: RecordBatch) => {
    for (const record of records) if (!signal.aborted) onRecord(record);
    return Promise.resolve();
  };
  await followBatches(connection, topic, from, onRecords, signal, 1);
}

/**
 * Like `followPartitions`, for handlers that take time: it reads on once they are done.
 * @param onRecords gets up to a thousand records of one partition at a time
 * @param atOnce how many partitions are handled at the same time
 */
export async function followBatches(
  connection: KafkaConnection,
  topic: string,
  from: Positions,
  onRecords: (batch: RecordBatch) => Promise<void>,
  signal: AbortSignal,
  atOnce: number,
): Promise<void> {
  const next = await startsOf(connection, topic, from);
  if (signal.aborted) return;
  let isOver = false;
  const groupId = `gapless-follower-${randomUUID()}`;
  const consumer = connection.kafka.consumer({
    groupId,
    allowAutoTopicCreation: false,
    partitionAssigners: [fixedAssignment(new Map([[topic, [...next.keys()]]]))],
    rebalanceTimeout: REBALANCE_TIMEOUT_MS,
    maxBytesPerPartition: LARGEST_BATCH_BYTES,
    maxWaitTimeInMs: FETCH_WAIT_MS,
    // After a crash, kafkajs starts again, even what was disconnected meanwhile.
    retry: { retries: 5, restartOnFailure: () => Promise.resolve(!isOver) },
  });
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consume(consumer, topic, next, onRecords, signal, atOnce);
  } finally {
    isOver = true;
    await consumer.disconnect();
    // The group was for this reader only. If deleting fails, it expires by itself.
    await connection.withAdmin((admin) => admin.deleteGroups([groupId])).catch(() => undefined);
  }
}
