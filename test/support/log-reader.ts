import { randomUUID } from 'node:crypto';
import { Kafka, logLevel, type Admin, type EachBatchPayload, type KafkaMessage } from 'kafkajs';
import { eventually } from './infrastructure/eventually.js';

/** A record of a topic, as kafkajs hands it over. */
export interface TopicRecord {
  readonly partition: number;
  readonly offset: number;
  /** Epoch milliseconds. */
  readonly timestampMs: number;
  readonly key: string;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** An event of the log, as a data team reads it: from the record's headers and the envelope's bytes. */
export interface LogRecord {
  readonly orgId: string;
  readonly seq: number;
  readonly id: string;
  readonly envelope: string;
}

function toRecord(partition: number, message: KafkaMessage): TopicRecord {
  const headers = Object.entries(message.headers ?? {}).map(([name, value]) => [name, String(value)] as const);
  return {
    partition,
    offset: Number(message.offset),
    timestampMs: Number(message.timestamp),
    key: message.key?.toString() ?? '',
    value: message.value ?? Buffer.alloc(0),
    headers: Object.fromEntries(headers),
  };
}

type Offsets = Awaited<ReturnType<Admin['fetchTopicOffsets']>>;

/** The offsets of each partition. @throws while a partition has no leader */
export async function offsetsOf(admin: Admin, topic: string): Promise<Offsets> {
  const offsets = await admin.fetchTopicOffsets(topic);
  // Where Gapless has changed kafkajs, that returns none of such a partition.
  const isKnown = offsets.every(({ high }) => (high as string | undefined) !== undefined);
  if (!isKnown) throw new Error(`a partition of ${topic} has no leader`);
  return offsets;
}

/** Reads the partitions up to the given ends, each in the order of its offsets. */
async function readTo(
  kafka: Kafka,
  groupId: string,
  topic: string,
  ends: ReadonlyMap<number, number>,
): Promise<readonly TopicRecord[]> {
  const open = new Map(ends);
  const records: TopicRecord[] = [];
  const consumer = kafka.consumer({ groupId });
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await new Promise<void>((resolve, reject) => {
      consumer.on(consumer.events.CRASH, ({ payload }) => {
        reject(payload.error);
      });
      const eachBatch = ({ batch }: EachBatchPayload) => {
        const end = open.get(batch.partition) ?? 0;
        for (const message of batch.messages) {
          if (Number(message.offset) < end) records.push(toRecord(batch.partition, message));
        }
        if (Number(batch.lastOffset()) >= end - 1) open.delete(batch.partition);
        if (open.size === 0) resolve();
        return Promise.resolve();
      };
      consumer.run({ autoCommit: false, eachBatch }).catch(reject);
    });
  } finally {
    await consumer.disconnect();
  }
  return records;
}

/** Every record that the topic holds at this moment, partition by partition in the order of their offsets. */
export async function readTopic(brokers: string, topic: string): Promise<readonly TopicRecord[]> {
  const kafka = new Kafka({ clientId: 'test-reader', brokers: brokers.split(','), logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  try {
    // A broker that has just started does not know yet what it leads.
    const offsets = await eventually(() => offsetsOf(admin, topic));
    const ends = new Map(
      offsets.filter(({ low, high }) => Number(low) < Number(high)).map((end) => [end.partition, Number(end.high)]),
    );
    if (ends.size === 0) return [];
    // A broker that has just started may still be loading what it knows of groups. Each try has a group of its own, since
    // the broker may count the member of the try before it among a group for a while; it forgets empty groups by itself.
    return await eventually(() => readTo(kafka, `test-reader-${randomUUID()}`, topic, ends));
  } finally {
    await admin.disconnect();
  }
}

/**
 * The log by org, read by the rule that it promises its order under: a record whose seq is not above the last seen of
 * its org is ignored.
 */
export async function readLog(brokers: string, prefix: string): Promise<ReadonlyMap<string, readonly LogRecord[]>> {
  const byOrg = new Map<string, LogRecord[]>();
  for (const { key, value, headers } of await readTopic(brokers, `${prefix}.log.v1`)) {
    const events = byOrg.get(key) ?? [];
    byOrg.set(key, events);
    const seq = Number(headers['seq']);
    if (seq <= (events.at(-1)?.seq ?? 0)) continue;
    events.push({ orgId: key, seq, id: headers['ce_id'] ?? '', envelope: value.toString() });
  }
  return byOrg;
}
