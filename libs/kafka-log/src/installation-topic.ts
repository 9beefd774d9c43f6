import { CompressionTypes } from 'kafkajs';
import type { InstallationRecord } from '#libs/domain';
import type { KafkaConnection } from './kafka-connection.js';
import { readPartitions } from './read-partitions.js';

/**
 * Which installation the topics belong to. Records are keyed by the id, so that compaction keeps one of each, and the
 * first that was not taken back counts: of two databases that are started on the same topics at once, one wins.
 */
export class InstallationTopic {
  constructor(
    private readonly connection: KafkaConnection,
    private readonly topic: string,
  ) {}

  /** @returns `null` when the topic is missing or empty */
  async read(): Promise<InstallationRecord | null> {
    const [first] = await this.#readAll();
    return first ?? null;
  }

  async announce(record: InstallationRecord): Promise<void> {
    await this.#write([{ key: record.id, value: JSON.stringify(record) }]);
  }

  async #readAll(): Promise<readonly InstallationRecord[]> {
    const topics = await this.connection.withAdmin((admin) => admin.listTopics());
    if (!topics.includes(this.topic)) return [];
    const kept = new Map<string, InstallationRecord>();
    await readPartitions(this.connection, [{ topic: this.topic, partition: 0, from: 0 }], ({ key, value }) => {
      const id = key?.toString() ?? '';
      if (value === null) kept.delete(id);
      else if (!kept.has(id)) kept.set(id, JSON.parse(value.toString()) as InstallationRecord);
    });
    return [...kept.values()];
  }

  async #write(messages: readonly { readonly key: string; readonly value: string | null }[]): Promise<void> {
    const producer = this.connection.kafka.producer({ allowAutoTopicCreation: false, retry: { retries: 5 } });
    await producer.connect();
    try {
      await producer.send({
        topic: this.topic,
        acks: -1,
        compression: CompressionTypes.None,
        messages: messages.map((message) => ({ ...message, partition: 0 })),
      });
    } finally {
      await producer.disconnect();
    }
  }
}
