import {
  CompressionTypes,
  type ICustomPartitioner,
  type Producer,
  type ProducerRecord,
  type RecordMetadata,
} from 'kafkajs';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import { measureProduce } from '../connection/measure-produce.js';
import { groupedAtOnce } from '../kafkajs/grouped-at-once.js';
import { leaderlessOf, noLeaderError } from '../kafkajs/partition-errors/leaderless-partitions.js';
import { toMessage, type NewRecord } from '../records/record.js';

/** A producer, and the writes that share it. */
interface SharedProducer {
  readonly producer: Producer;
  /** How many are under way. */
  writes: number;
  /** Whether it gets no more. */
  isSpent: boolean;
}

/**
 * Writes to one topic partition at a time and never retries. After an error the topic may or may not hold the records,
 * and the caller must find out.
 */
export class PartitionWriter {
  #shared: Promise<SharedProducer> | null = null;
  /** The partitions of each topic, as of its last request. */
  readonly #topics = new Map<string, Parameters<ReturnType<ICustomPartitioner>>[0]['partitionMetadata']>();

  constructor(private readonly connection: KafkaConnection) {}

  async close(): Promise<void> {
    const shared = await this.#shared?.catch(() => undefined);
    this.#shared = null;
    await shared?.producer.disconnect();
  }

  /**
   * Resolves once all in-sync replicas have the records, which form one batch of the partition.
   * @returns the offset of the first record
   */
  async write(
    topic: string,
    partition: number,
    records: readonly Omit<NewRecord, 'topic' | 'partition'>[],
  ): Promise<number> {
    const shared = await this.#connected();
    const messages = groupedAtOnce(records.map((record) => toMessage({ ...record, topic, partition })));
    return measureProduce(this.connection.metrics, [{ topic, messages }], async () => {
      const request = { topic, acks: -1, compression: CompressionTypes.None, messages };
      const [written] = await this.#send(shared, request);
      if (written !== undefined) return Number(written.baseOffset ?? -1);
      // kafkajs looks for the leader by itself.
      if (leaderlessOf(this.#topics.get(topic) ?? []).includes(partition)) throw noLeaderError(topic, partition);
      // kafkajs silently sends nothing to a partition that its metadata lacks. A new producer reads the metadata again.
      this.#replace(shared);
      throw new Error(`not acknowledged: ${topic}/${partition}`);
    });
  }

  async #send(shared: SharedProducer, request: ProducerRecord): Promise<RecordMetadata[]> {
    shared.writes++;
    try {
      return await shared.producer.send(request);
    } catch (error) {
      // A broker may be silent and keep its connections. kafkajs asks it again until its metadata is 5 minutes old.
      this.#replace(shared);
      throw error;
    } finally {
      shared.writes--;
      this.#closeIfDone(shared);
    }
  }

  /** Lets later writes use another producer. The writes under way keep this one. */
  #replace(shared: SharedProducer): void {
    if (shared.isSpent) return;
    shared.isSpent = true;
    this.#shared = null;
    this.#closeIfDone(shared);
  }

  #closeIfDone({ producer, writes, isSpent }: SharedProducer): void {
    if (isSpent && writes === 0) void producer.disconnect().catch(() => undefined);
  }

  async #connected(): Promise<SharedProducer> {
    const shared = (this.#shared ??= this.#connect());
    try {
      return await shared;
    } catch (error) {
      if (this.#shared === shared) this.#shared = null;
      throw error;
    }
  }

  async #connect(): Promise<SharedProducer> {
    const producer = this.connection.kafka.producer({
      allowAutoTopicCreation: false,
      createPartitioner: () => {
        const place = this.connection.partitioner();
        return (record) => {
          this.#topics.set(record.topic, record.partitionMetadata);
          return place(record);
        };
      },
      retry: { retries: 0 },
    });
    await producer.connect();
    return { producer, writes: 0, isSpent: false };
  }
}
