import { CompressionTypes, type Producer } from 'kafkajs';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import { measureProduce } from '../connection/measure-produce.js';
import { groupedAtOnce } from '../kafkajs/grouped-at-once.js';
import { toMessage, type NewRecord } from '../records/record.js';

/**
 * Writes to one topic partition at a time and never retries. After an error the topic may or may not hold the records,
 * and the caller must find out.
 */
export class PartitionWriter {
  #producer: Promise<Producer> | null = null;

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
      createPartitioner: this.connection.partitioner,
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
