import { setTimeout as delay } from 'node:timers/promises';
import { CompressionTypes, type Message, type Producer } from 'kafkajs';
import type { Metrics } from '#libs/metrics';
import type { KafkaConnection } from './kafka-connection.js';
import { PRODUCE_BYTES, PRODUCE_RECORDS } from './limits.js';
import { measureProduce } from './measure-produce.js';
import { recordBytes, toMessage, type NewRecord } from './record.js';

export interface AppenderOptions {
  /** How often kafkajs tries again before `append` rejects. */
  readonly retries: number;
  /** How long records wait for others to share a request with; none unless given. */
  readonly gatherMs?: number;
}

interface Waiting {
  readonly records: readonly NewRecord[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Appends records with `acks=all`. Calls that come while a request is on its way share the next one, so many small
 * appends cost few round trips and, unless told to gather, none of them waits for a timer. A record may be appended twice after a fault of the
 * network: what reads it must not mind.
 */
export class Appender {
  readonly #producer: Producer;
  readonly #metrics: Metrics;
  #waiting: Waiting[] = [];
  #sending: Promise<void> | null = null;

  constructor(
    connection: KafkaConnection,
    private readonly options: AppenderOptions,
  ) {
    this.#metrics = connection.metrics;
    this.#metrics.add('gapless_produce_failures_total', {}, 0);
    this.#producer = connection.kafka.producer({
      allowAutoTopicCreation: false,
      createPartitioner: connection.partitioner,
      retry: { retries: options.retries, initialRetryTime: 100, maxRetryTime: 1_000 },
    });
  }

  async connect(): Promise<void> {
    await this.#producer.connect();
  }

  /** Sends what waits, then closes. */
  async close(): Promise<void> {
    while (this.#sending !== null) await this.#sending;
    await this.#producer.disconnect();
  }

  /** Resolves once the brokers have acknowledged all of the records. */
  append(records: readonly NewRecord[]): Promise<void> {
    if (records.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ records, resolve, reject });
      this.#sending ??= this.#sendAll();
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#gather();
      const batch = this.#takeBatch();
      try {
        await this.#send(batch.flatMap((waiting) => waiting.records));
        for (const waiting of batch) waiting.resolve();
      } catch (error) {
        for (const waiting of batch) waiting.reject(error);
      }
    }
    // In the same turn as the look at what waits: what comes next begins to send by itself.
    this.#sending = null;
  }

  /** Appends of the same turn of the event loop share a request in any case. */
  async #gather(): Promise<void> {
    const { gatherMs = 0 } = this.options;
    if (gatherMs > 0 && this.#waiting.length < PRODUCE_RECORDS) await delay(gatherMs);
    else await Promise.resolve();
  }

  #takeBatch(): readonly Waiting[] {
    let bytes = 0;
    let records = 0;
    let taken = 0;
    for (const waiting of this.#waiting) {
      if (taken > 0 && (bytes >= PRODUCE_BYTES || records >= PRODUCE_RECORDS)) break;
      for (const record of waiting.records) bytes += recordBytes(record);
      records += waiting.records.length;
      taken++;
    }
    return this.#waiting.splice(0, taken);
  }

  async #send(records: readonly NewRecord[]): Promise<void> {
    const byTopic = new Map<string, Message[]>();
    for (const record of records) {
      const messages = byTopic.get(record.topic);
      if (messages === undefined) byTopic.set(record.topic, [toMessage(record)]);
      else messages.push(toMessage(record));
    }
    const topicMessages = [...byTopic].map(([topic, messages]) => ({ topic, messages }));
    await measureProduce(this.#metrics, topicMessages, () =>
      this.#producer.sendBatch({ acks: -1, compression: CompressionTypes.None, topicMessages }),
    );
  }
}
