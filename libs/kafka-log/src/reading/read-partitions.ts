import { randomUUID } from 'node:crypto';
import type { Consumer, EachBatchPayload } from 'kafkajs';
import { fixedAssignment } from '../kafkajs/fixed-assignment.js';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import { watchFetches } from '../kafkajs/partition-errors/failed-fetches.js';
import { LARGEST_BATCH_BYTES } from '../topics/limits.js';
import { topicBounds } from './log-positions.js';
import { toReadableRecord, toStoredRecord, type RecordBatch, type StoredRecord } from '../records/record.js';

/** A part of a partition: from an offset (by default the first record) to the partition's current end. */
export interface PartitionStretch {
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  /** Stops before this offset. */
  readonly to?: number;
}

export interface ReadingOptions {
  /** `given`: unreadable batches are handed over like records; otherwise one of them ends the reading. */
  readonly unreadable?: 'given';
  /** How many partitions are handed over at the same time, each in its order. Default: one. */
  readonly partitionsAtOnce?: number;
}

/**
 * Reading fails after this many milliseconds without a record. Normal reads have no such pause, and nobody wants to
 * wait longer.
 */
const STALL_MS = 15_000;

/** How long the group of a reader waits for it in a rebalance, milliseconds. kafkajs waits 5 s longer for the answer. */
export const REBALANCE_TIMEOUT_MS = 10_000;

/** The most records in one call: enough for one statement, and few enough to handle within a session. */
export const RECORDS_AT_ONCE = 1_000;

/** The brokers returned nothing for some time. A retry can help. */
export class ReadingStalledError extends Error {
  override readonly name = 'ReadingStalledError';
  constructor(partitions: readonly string[]) {
    super(`reading stalled before the end of ${partitions.join(', ')}`);
  }
}

function partitionKey(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

/** Returns for each stretch the offset to start at, and the one after its last record. */
async function boundsOf(
  connection: KafkaConnection,
  stretches: readonly PartitionStretch[],
): Promise<Map<string, PartitionStretch & { readonly end: number }>> {
  const topics = [...new Set(stretches.map((stretch) => stretch.topic))];
  const found = await connection.withAdmin(async (admin) => {
    const offsets = topics.map(async (topic) => [topic, await admin.fetchTopicOffsets(topic)] as const);
    return new Map((await Promise.all(offsets)).map(([topic, ofTopic]) => [topic, topicBounds(topic, ofTopic)]));
  });
  const bounds = new Map<string, PartitionStretch & { readonly end: number }>();
  for (const stretch of stretches) {
    const kept = found.get(stretch.topic)?.get(stretch.partition);
    if (kept === undefined) throw new Error(`${stretch.topic} has no partition ${stretch.partition}`);
    const from = Math.max(stretch.from, kept.begin);
    const end = Math.min(stretch.to ?? Infinity, kept.end);
    bounds.set(partitionKey(stretch.topic, stretch.partition), { ...stretch, from, end });
  }
  return bounds;
}

async function consumeAll(
  { consumer, groupId }: { readonly consumer: Consumer; readonly groupId: string },
  bounds: ReadonlyMap<string, PartitionStretch & { readonly end: number }>,
  onRecords: (batch: RecordBatch) => Promise<void>,
  read: typeof toStoredRecord,
  partitionsAtOnce: number,
): Promise<void> {
  const open = new Set(bounds.keys());
  const next = new Map([...bounds].map(([key, { from }]) => [key, from]));
  let handedOver = 0;
  let isSettled = false;
  let endWatch: () => void = () => undefined;
  await new Promise<void>((resolve, reject) => {
    let watchdog: NodeJS.Timeout | undefined;
    const settle = (act: () => void) => {
      isSettled = true;
      clearTimeout(watchdog);
      act();
    };
    const fail = (error: unknown) => {
      settle(() => {
        reject(error instanceof Error ? error : new Error(String(error)));
      });
    };
    const watch = () => {
      watchdog = setTimeout(() => {
        fail(new ReadingStalledError([...open]));
      }, STALL_MS);
    };
    watch();
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      fail(payload.error);
    });
    // Others are read meanwhile, and would wait for the partition until reading stalls.
    endWatch = watchFetches(groupId, {
      failed: (topic, partition, _offset, error) => {
        if (open.has(partitionKey(topic, partition))) fail(error);
      },
      recovered: () => undefined,
    });
    // Runs before the first fetch of every generation, which would begin at the first record otherwise.
    consumer.on(consumer.events.GROUP_JOIN, () => {
      for (const [key, { topic, partition }] of bounds)
        consumer.seek({ topic, partition, offset: String(nextOf(key)) });
    });
    const nextOf = (key: string) => next.get(key) ?? 0;
    const reached = (key: string, lastOffset: string) => {
      // After a join, records come again that were handled before.
      next.set(key, Math.max(nextOf(key), Number(lastOffset) + 1));
      if (nextOf(key) >= (bounds.get(key)?.end ?? 0)) open.delete(key);
      if (open.size === 0) settle(resolve);
    };
    // Transaction markers and aborted records are not handed over.
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload: { topic, partition, batchSize, lastOffset } }) => {
      if (batchSize === 0) reached(partitionKey(topic, partition), lastOffset);
    });
    const handOver = async (payload: EachBatchPayload): Promise<void> => {
      const { batch } = payload;
      const { topic, partition } = batch;
      const key = partitionKey(topic, partition);
      const [from, end] = [nextOf(key), bounds.get(key)?.end ?? 0];
      const messages = batch.messages.filter(({ offset }) => Number(offset) >= from && Number(offset) < end);
      for (let at = 0; at < messages.length && !isSettled; at += RECORDS_AT_ONCE) {
        const some = messages.slice(at, at + RECORDS_AT_ONCE);
        try {
          await onRecords({ topic, partition, records: some.map((message) => read(topic, partition, message)) });
        } catch (error) {
          // Do not pass the error to kafkajs, which would hand the batch over again.
          fail(error);
          return;
        }
        reached(key, some.at(-1)?.offset ?? '-1');
        // After an error, kafkajs joins the group again.
        await payload.heartbeat();
      }
      reached(key, batch.lastOffset());
    };
    consumer
      .run({
        autoCommit: false,
        partitionsConsumedConcurrently: partitionsAtOnce,
        eachBatch: async (payload) => {
          // The time that the records take to be handled must not count against the brokers.
          clearTimeout(watchdog);
          handedOver++;
          try {
            await handOver(payload);
          } finally {
            handedOver--;
            if (handedOver === 0 && !isSettled) watch();
          }
        },
      })
      .catch(fail);
  }).finally(() => {
    endWatch();
  });
}

/**
 * Reads stretches of partitions to their ends, each in order. Reads on once the last records are handled. Rejects with
 * any error of `onRecords`.
 * @param onRecords gets up to a thousand records of one partition at a time
 * @returns the end offset of each stretch, by `topic/partition`
 */
export async function streamPartitions(
  connection: KafkaConnection,
  stretches: readonly PartitionStretch[],
  onRecords: (batch: RecordBatch) => Promise<void>,
  options: ReadingOptions = {},
): Promise<ReadonlyMap<string, number>> {
  const all = await boundsOf(connection, stretches);
  const bounds = new Map([...all].filter(([, { from, end }]) => from < end));
  if (bounds.size > 0) {
    const wanted = new Map<string, number[]>();
    for (const { topic, partition } of bounds.values()) {
      wanted.set(topic, [...(wanted.get(topic) ?? []), partition]);
    }
    const groupId = `gapless-reader-${randomUUID()}`;
    const consumer = connection.kafka.consumer({
      groupId,
      allowAutoTopicCreation: false,
      partitionAssigners: [fixedAssignment(wanted)],
      rebalanceTimeout: REBALANCE_TIMEOUT_MS,
      maxBytesPerPartition: LARGEST_BATCH_BYTES,
      maxWaitTimeInMs: 50,
      // A crash ends the read. kafkajs would start again, even what was disconnected meanwhile.
      retry: { retries: 3, restartOnFailure: () => Promise.resolve(false) },
    });
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [...wanted.keys()], fromBeginning: true });
      const read = options.unreadable === 'given' ? toStoredRecord : toReadableRecord;
      await consumeAll({ consumer, groupId }, bounds, onRecords, read, options.partitionsAtOnce ?? 1);
    } finally {
      await consumer.disconnect();
      // The group was for this reader only. If deleting fails, it expires by itself.
      await connection.withAdmin((admin) => admin.deleteGroups([groupId])).catch(() => undefined);
    }
  }
  return new Map([...all].map(([key, { end }]) => [key, end]));
}

/** Like `streamPartitions`, for handlers that take one record at a time and return at once. */
export async function readPartitions(
  connection: KafkaConnection,
  stretches: readonly PartitionStretch[],
  onRecord: (record: StoredRecord) => void,
  options: ReadingOptions = {},
): Promise<ReadonlyMap<string, number>> {
  const handOver = ({ records }: RecordBatch) => {
    for (const record of records) onRecord(record);
    return Promise.resolve();
  };
  return streamPartitions(connection, stretches, handOver, options);
}
