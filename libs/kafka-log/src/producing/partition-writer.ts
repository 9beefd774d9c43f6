import { CompressionTypes, type Producer } from 'kafkajs';
import type { Metrics } from '#libs/telemetry';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import { measureProduce } from '../connection/measure-produce.js';
import { toMessage, type NewRecord } from '../records/record.js';

/**
 * Writes to one topic partition at a time and never retries. After an error the topic may or may not have the records,
 * and only the caller can find out.
 */
export class PartitionWriter {
  readonly #producer: Producer;
  readonly #metrics: Metrics;
  #connected: Promise<void> | null = null;

  constructor(connection: KafkaConnection) {
    this.#metrics = connection.metrics;
    this.#producer = connection.kafka.producer({
      allowAutoTopicCreation: false,
      createPartitioner: connection.partitioner,
      retry: { retries: 0 },
    });
  }

  async close(): Promise<void> {
    await this.#producer.disconnect();
  }

  /**
   * Resolves once all in-sync replicas have the records, which become one batch of the partition.
   * @returns the offset of the first of them
   */
  async write(
    topic: string,
    partition: number,
    records: readonly Omit<NewRecord, 'topic' | 'partition'>[],
  ): Promise<number> {
    this.#connected ??= this.#producer.connect();
    try {
      await this.#connected;
    } catch (error) {
      this.#connected = null;
      throw error;
    }
    const messages = records.map((record) => toMessage({ ...record, topic, partition }));
    const [written] = await measureProduce(this.#metrics, [{ topic, messages }], () =>
      this.#producer.send({ topic, acks: -1, compression: CompressionTypes.None, messages }),
    );
    return Number(written?.baseOffset ?? -1);
  }
}
