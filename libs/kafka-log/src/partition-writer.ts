import { CompressionTypes, Partitioners, type Producer } from 'kafkajs';
import type { KafkaConnection } from './kafka-connection.js';
import { toMessage, type NewRecord } from './record.js';

/**
 * Writes to one topic partition at a time and never tries again by itself: after an error the records may or may not
 * stand in the topic, and only the caller can find out which.
 */
export class PartitionWriter {
  readonly #producer: Producer;

  constructor(connection: KafkaConnection) {
    this.#producer = connection.kafka.producer({
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
      retry: { retries: 0 },
    });
  }

  async connect(): Promise<void> {
    await this.#producer.connect();
  }

  async close(): Promise<void> {
    await this.#producer.disconnect();
  }

  /** Resolves once all in-sync replicas have the records, which become one batch of the partition. */
  async write(
    topic: string,
    partition: number,
    records: readonly Omit<NewRecord, 'topic' | 'partition'>[],
  ): Promise<void> {
    await this.#producer.send({
      topic,
      acks: -1,
      compression: CompressionTypes.None,
      messages: records.map((record) => toMessage({ ...record, topic, partition })),
    });
  }
}
