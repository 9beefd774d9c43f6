import { setTimeout as delay } from 'node:timers/promises';
import { CompressionTypes, type ICustomPartitioner, type Message, type Producer, type TopicMessages } from 'kafkajs';
import type { Metrics } from '#libs/telemetry';
import { FairQueue } from './fair-queue.js';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import { LARGEST_RECORD_BYTES, PRODUCE_BYTES, PRODUCE_RECORDS, REQUEST_BYTES } from '../topics/limits.js';
import { measureProduce } from '../connection/measure-produce.js';
import { groupedAtOnce } from '../kafkajs/grouped-at-once.js';
import { recordBytes, toMessage, type NewRecord } from '../records/record.js';
import { stretchesOf } from '../records/stretches-of.js';

export interface AppenderOptions {
  /** How often kafkajs retries before `append` rejects. */
  readonly retries: number;
  /** How long records wait for others to share a request with, milliseconds; no wait by default. */
  readonly gatherMs?: number;
}

interface Waiting {
  readonly records: readonly NewRecord[];
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A record that the brokers would always refuse. No record of its append was sent. */
class RecordTooLargeError extends Error {
  override readonly name = 'RecordTooLargeError';
  constructor(topic: string, bytes: number) {
    super(`a record of ${bytes} bytes is too large for ${topic}, which takes ${LARGEST_RECORD_BYTES}`);
  }
}

/**
 * Appends records with `acks=all`. Calls during a request share the next one, so that many small appends take few round
 * trips. Callers may name a share for their records. Each share then gets the same part of the capacity, so that a
 * large one does not block the others. Calls wait for no timer, unless the appender is set to gather. An append too
 * large for one request is sent in several, one after the other; an ingest request is never that large. The broker
 * recognizes records that are sent again after a fault. A rejected append may have written some of its records.
 */
export class Appender {
  /** An idempotent producer; `null` after a failure. */
  #producer: Producer | null = null;
  /** The partitions of the records under way, as `topic/partition`. */
  readonly #places = new Set<string>();
  readonly #metrics: Metrics;
  readonly #waiting = new FairQueue<Waiting>();
  #sending: Promise<void> | null = null;

  constructor(
    private readonly connection: KafkaConnection,
    private readonly options: AppenderOptions,
  ) {
    this.#metrics = connection.metrics;
    this.#metrics.add('gapless_produce_failures_total', {}, 0);
  }

  async connect(): Promise<void> {
    this.#producer ??= await this.#connected();
  }

  /** Sends waiting records, then closes. */
  async close(): Promise<void> {
    while (this.#sending !== null) await this.#sending;
    await this.#producer?.disconnect();
  }

  /**
   * Resolves once the brokers have acknowledged all records.
   * @param share the share that the records count for; only records of the same share keep the order of the calls
   * @throws RecordTooLargeError
   */
  append(records: readonly NewRecord[], share = ''): Promise<void> {
    if (records.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const bytes = bytesOf(records);
      this.#waiting.add(share, bytes, { records, bytes, resolve, reject });
      this.#sending ??= this.#sendAll();
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#gather();
      const batch = this.#takeBatch();
      try {
        await this.#sendInOrder(batch);
        for (const waiting of batch) waiting.resolve();
      } catch (error) {
        for (const waiting of batch) waiting.reject(error);
      }
    }
    // In the same turn as the check for waiting records, so that later records start a new send.
    this.#sending = null;
  }

  /** Waits for more records. Appends in the same turn of the event loop always share a request. */
  async #gather(): Promise<void> {
    const { gatherMs = 0 } = this.options;
    if (gatherMs > 0 && this.#waiting.length < PRODUCE_RECORDS) await delay(gatherMs);
    else await Promise.resolve();
  }

  #takeBatch(): readonly Waiting[] {
    let bytes = 0;
    let records = 0;
    const batch: Waiting[] = [];
    for (let next = this.#waiting.peek(); next !== undefined; next = this.#waiting.peek()) {
      if (batch.length > 0 && (bytes >= PRODUCE_BYTES || records >= PRODUCE_RECORDS)) break;
      if (batch.length > 0 && bytes + next.bytes > REQUEST_BYTES) break;
      bytes += next.bytes;
      records += next.records.length;
      batch.push(next);
      this.#waiting.take();
    }
    return batch;
  }

  /** Stops at the first failed request, so that later records of a partition cannot overtake it. */
  async #sendInOrder(batch: readonly Waiting[]): Promise<void> {
    const records = batch.flatMap((waiting) => waiting.records);
    const bytes = batch.reduce((sum, waiting) => sum + waiting.bytes, 0);
    const requests = bytes <= REQUEST_BYTES ? [records] : stretchesOf(records, { bytes: REQUEST_BYTES });
    for (const request of requests) await this.#send(request);
  }

  async #send(records: readonly NewRecord[]): Promise<void> {
    const byTopic = new Map<string, Message[]>();
    for (const record of records) {
      const messages = byTopic.get(record.topic);
      if (messages === undefined) byTopic.set(record.topic, [toMessage(record)]);
      else messages.push(toMessage(record));
    }
    const topicMessages = [...byTopic].map(([topic, messages]) => ({ topic, messages: groupedAtOnce(messages) }));
    await measureProduce(this.#metrics, topicMessages, () => this.#sendOnce(topicMessages));
  }

  /**
   * kafkajs numbers the records of a partition. It sends a batch again under the same numbers, and the broker drops
   * repeats. After a failure, kafkajs could reuse the numbers of stored records for new ones, which the broker would
   * drop. So a producer that failed is never used again.
   */
  async #sendOnce(topicMessages: TopicMessages[]): Promise<void> {
    const producer = (this.#producer ??= await this.#connected());
    this.#places.clear();
    try {
      const written = await producer.sendBatch({ acks: -1, compression: CompressionTypes.None, topicMessages });
      for (const { topicName, partition } of written) this.#places.delete(`${topicName}/${partition}`);
      // If a partition moves to a broker that has already answered, kafkajs takes that answer for this partition, too.
      if (this.#places.size > 0) throw new Error(`not acknowledged: ${[...this.#places].join(', ')}`);
    } catch (error) {
      this.#producer = null;
      void producer.disconnect().catch(() => undefined);
      throw error;
    }
  }

  async #connected(): Promise<Producer> {
    const { kafka, partitioner } = this.connection;
    const producer = kafka.producer({
      allowAutoTopicCreation: false,
      idempotent: true,
      createPartitioner: () => this.#noting(partitioner()),
      retry: { retries: this.options.retries, initialRetryTime: 100, maxRetryTime: 1_000 },
    });
    await producer.connect();
    return producer;
  }

  #noting(place: ReturnType<ICustomPartitioner>): ReturnType<ICustomPartitioner> {
    return (record) => {
      const partition = place(record);
      this.#places.add(`${record.topic}/${partition}`);
      return partition;
    };
  }
}

/** @throws RecordTooLargeError */
function bytesOf(records: readonly NewRecord[]): number {
  let sum = 0;
  for (const record of records) {
    const bytes = recordBytes(record);
    if (bytes > LARGEST_RECORD_BYTES) throw new RecordTooLargeError(record.topic, bytes);
    sum += bytes;
  }
  return sum;
}
