import { CompressionTypes } from 'kafkajs';
import type { InstallationRecord } from '#libs/domain';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import { noLeaderError } from '../kafkajs/partition-errors/leaderless-partitions.js';
import { readPartitions } from '../reading/read-partitions.js';

/** The prefix of the key of a topic whose number of partitions an operator accepted. */
const ACCEPTED = 'partitions of ';
/** The prefix of the key of a log partition that lost its begin. */
const LOST_BEGIN = 'lost begin of ';

/** The content of the topic. */
export interface InstallationTopicContents {
  /** `null` when the topic is missing or empty. */
  readonly record: InstallationRecord | null;
  /** The number of partitions that an operator accepted, for topics with more than the installation. */
  readonly accepted: ReadonlyMap<string, number>;
  /** The log partitions, as `topic/partition`, in which organizations may begin after their first events. */
  readonly lostBegins: ReadonlySet<string>;
}

/** Returns `undefined` for what is no record of this key: junk of another writer must not keep processes from starting. */
export function installationIn(id: string, value: Buffer): InstallationRecord | undefined {
  try {
    const record = JSON.parse(value.toString()) as InstallationRecord | null;
    return record?.id === id ? record : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Holds which installation the topics belong to. Records are keyed by the installation's id, so that compaction keeps
 * one of each. The first record that was not withdrawn counts. If two databases start on the same topics at once, one
 * wins.
 */
export class InstallationTopic {
  constructor(
    private readonly connection: KafkaConnection,
    private readonly topic: string,
  ) {}

  /** @returns `null` when the topic is missing or empty */
  async read(): Promise<InstallationRecord | null> {
    return (await this.readAll()).record;
  }

  async readAll(): Promise<InstallationTopicContents> {
    const topics = await this.connection.withAdmin((admin) => admin.listTopics());
    const kept = new Map<string, InstallationRecord>();
    const accepted = new Map<string, number>();
    const lostBegins = new Set<string>();
    if (!topics.includes(this.topic)) return { record: null, accepted, lostBegins };
    await readPartitions(this.connection, [{ topic: this.topic, partition: 0, from: 0 }], ({ key, value }) => {
      const id = key?.toString() ?? '';
      if (id.startsWith(ACCEPTED)) accepted.set(id.slice(ACCEPTED.length), Number(value?.toString() ?? 0));
      else if (id.startsWith(LOST_BEGIN)) lostBegins.add(id.slice(LOST_BEGIN.length));
      else if (value === null) kept.delete(id);
      else {
        const record = installationIn(id, value);
        if (record !== undefined && !kept.has(id)) kept.set(id, record);
      }
    });
    const [record] = kept.values();
    return { record: record ?? null, accepted, lostBegins };
  }

  async announce(record: InstallationRecord): Promise<void> {
    await this.#write([{ key: record.id, value: JSON.stringify(record) }]);
  }

  /** Accepts topics with more partitions than the installation, so that processes can start. */
  async accept(partitions: ReadonlyMap<string, number>): Promise<void> {
    await this.#write([...partitions].map(([topic, count]) => ({ key: `${ACCEPTED}${topic}`, value: String(count) })));
  }

  /** Notes log partitions, as `topic/partition`, in which organizations begin after events that are lost. */
  async noteLostBegins(places: readonly string[]): Promise<void> {
    await this.#write(places.map((place) => ({ key: `${LOST_BEGIN}${place}`, value: 'true' })));
  }

  async #write(messages: readonly { readonly key: string; readonly value: string | null }[]): Promise<void> {
    const producer = this.connection.kafka.producer({ allowAutoTopicCreation: false, retry: { retries: 5 } });
    await producer.connect();
    try {
      const written = await producer.send({
        topic: this.topic,
        acks: -1,
        compression: CompressionTypes.None,
        messages: messages.map((message) => ({ ...message, partition: 0 })),
      });
      // kafkajs sends nothing to a partition without a leader, and reports success.
      if (written.length === 0) throw noLeaderError(this.topic, 0);
    } finally {
      await producer.disconnect();
    }
  }
}
