import { CompressionTypes, type ICustomPartitioner, type Producer } from 'kafkajs';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import { measureProduce } from '../connection/measure-produce.js';
import { groupedAtOnce } from '../kafkajs/grouped-at-once.js';
import { leaderlessOf, noLeaderError } from '../kafkajs/partition-errors/leaderless-partitions.js';
import { toMessage, type NewRecord } from '../records/record.js';

/**
 * Writes to one topic partition at a time and never retries. After an error the topic may or may not hold the records,
 * and the caller must find out.
 */
export class PartitionWriter {
  #producer: Promise<Producer> | null = null;
  /** The partitions of each topic, as of its last request. */
  readonly #topics = new Map<string, Parameters<ReturnType<ICustomPartitioner>>[0]['partitionMetadata']>();

  constructor(private readonly connection: KafkaConnection) {}

  async close(): Promise<void> {
    await this.#discard();
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
    const producer = await this.#connected();
    const messages = groupedAtOnce(records.map((record) => toMessage({ ...record, topic, partition })));
    return measureProduce(this.connection.metrics, [{ topic, messages }], async () => {
      const [written] = await producer.send({ topic, acks: -1, compression: CompressionTypes.None, messages });
      if (written !== undefined) return Number(written.baseOffset ?? -1);
      // kafkajs looks for the leader by itself.
      if (leaderlessOf(this.#topics.get(topic) ?? []).includes(partition)) throw noLeaderError(topic, partition);
      // kafkajs silently sends nothing to a partition that its metadata lacks. A new producer reads the metadata again.
      await this.#discard();
      throw new Error(`not acknowledged: ${topic}/${partition}`);
    });
  }

  async #connected(): Promise<Producer> {
    this.#producer ??= this.#connect();
    try {
      return await this.#producer;
    } catch (error) {
      this.#producer = null;
      throw error;
    }
  }

  async #connect(): Promise<Producer> {
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
    return producer;
  }

  async #discard(): Promise<void> {
    const producer = await this.#producer?.catch(() => undefined);
    this.#producer = null;
    await producer?.disconnect();
  }
}
