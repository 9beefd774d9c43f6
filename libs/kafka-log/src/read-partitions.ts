import { randomUUID } from 'node:crypto';
import type { Consumer } from 'kafkajs';
import { fixedAssignment } from './fixed-assignment.js';
import type { KafkaConnection } from './kafka-connection.js';
import { LARGEST_BATCH_BYTES } from './limits.js';
import { toStoredRecord, type StoredRecord } from './record.js';

/** A stretch of a partition: from an offset (or the first one that is still kept) to the end as it is now. */
export interface PartitionStretch {
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
}

/** Longer than any tail that a sequencer or a rebuild reads between two records, shorter than anyone would wait. */
const STALL_MS = 15_000;

function partitionKey(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

/** For each stretch: where to begin and the offset behind its last record. */
async function boundsOf(
  connection: KafkaConnection,
  stretches: readonly PartitionStretch[],
): Promise<Map<string, PartitionStretch & { readonly end: number }>> {
  const topics = [...new Set(stretches.map((stretch) => stretch.topic))];
  const offsets = await connection.withAdmin(
    async (admin) =>
      new Map(await Promise.all(topics.map(async (topic) => [topic, await admin.fetchTopicOffsets(topic)] as const))),
  );
  const bounds = new Map<string, PartitionStretch & { readonly end: number }>();
  for (const stretch of stretches) {
    const found = offsets.get(stretch.topic)?.find((entry) => entry.partition === stretch.partition);
    if (found === undefined) throw new Error(`${stretch.topic} has no partition ${stretch.partition}`);
    const from = Math.max(stretch.from, Number(found.low));
    const end = Number(found.high);
    bounds.set(partitionKey(stretch.topic, stretch.partition), { ...stretch, from, end });
  }
  return bounds;
}

async function consumeAll(
  consumer: Consumer,
  bounds: ReadonlyMap<string, PartitionStretch & { readonly end: number }>,
  onRecord: (record: StoredRecord) => void,
): Promise<void> {
  const open = new Set(bounds.keys());
  await new Promise<void>((resolve, reject) => {
    const stalled = () => {
      reject(new Error(`reading stalled before the end of ${[...open].join(', ')}`));
    };
    let watchdog = setTimeout(stalled, STALL_MS);
    const settle = (act: () => void) => () => {
      clearTimeout(watchdog);
      act();
    };
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      settle(() => {
        reject(payload.error);
      })();
    });
    // Before the first fetch of every generation, so that nothing in front of the stretch is read.
    consumer.on(consumer.events.GROUP_JOIN, () => {
      for (const { topic, partition, from } of bounds.values())
        consumer.seek({ topic, partition, offset: String(from) });
    });
    consumer
      .run({
        autoCommit: false,
        eachBatch: ({ batch }) => {
          clearTimeout(watchdog);
          watchdog = setTimeout(stalled, STALL_MS);
          const key = partitionKey(batch.topic, batch.partition);
          const end = bounds.get(key)?.end ?? 0;
          for (const message of batch.messages) {
            if (open.has(key) && Number(message.offset) < end)
              onRecord(toStoredRecord(batch.topic, batch.partition, message));
          }
          if (Number(batch.lastOffset()) >= end - 1) open.delete(key);
          if (open.size === 0) settle(resolve)();
          return Promise.resolve();
        },
      })
      .catch((error: unknown) => {
        settle(() => {
          reject(error instanceof Error ? error : new Error(String(error)));
        })();
      });
  });
}

/**
 * Reads stretches of partitions to their present ends, each in the order of its offsets.
 * @returns the end offset of each stretch, by `topic/partition`
 */
export async function readPartitions(
  connection: KafkaConnection,
  stretches: readonly PartitionStretch[],
  onRecord: (record: StoredRecord) => void,
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
      partitionAssigners: [fixedAssignment(wanted)],
      maxBytesPerPartition: LARGEST_BATCH_BYTES,
      maxWaitTimeInMs: 50,
      retry: { retries: 3 },
    });
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [...wanted.keys()], fromBeginning: true });
      await consumeAll(consumer, bounds, onRecord);
    } finally {
      await consumer.disconnect();
      // The group was for this reading only; what is left of it would expire by itself.
      await connection.withAdmin((admin) => admin.deleteGroups([groupId])).catch(() => undefined);
    }
  }
  return new Map([...all].map(([key, { end }]) => [key, end]));
}
