import { CompressionTypes, type ICustomPartitioner, type Message, type Producer, type TopicMessages } from 'kafkajs';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import { measureProduce } from '../connection/measure-produce.js';
import { groupedAtOnce } from '../kafkajs/grouped-at-once.js';
import { leaderlessOf, noLeaderError } from '../kafkajs/partition-errors/leaderless-partitions.js';
import { refusalOf } from '../kafkajs/partition-errors/refused-records.js';
import { toMessage, type NewRecord } from '../records/record.js';
import { stretchesOf } from '../records/stretches-of.js';
import { REQUEST_BYTES } from '../topics/limits.js';

type Partitions = Parameters<ReturnType<ICustomPartitioner>>[0]['partitionMetadata'];

/** Why a partition has written none of the records that were sent to it. */
export interface Refusal {
  readonly topic: string;
  readonly partition: number;
  readonly error: Error;
}

/** The records that were refused. */
export type Refused = ReadonlyMap<NewRecord, Refusal>;

/** Ends the measuring of a request that some partitions have refused. */
class PartitionsRefusedError extends Error {
  override readonly name = 'PartitionsRefusedError';
  constructor(readonly refusals: ReadonlyMap<string, Refusal>) {
    super(`refused by ${[...refusals.keys()].join(', ')}`);
  }
}

const NO_MESSAGE: Message = { value: null };

export function placeName(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

/** Sends records by an idempotent producer, one request at a time. */
export class RecordSender {
  /** `null` after a failure. */
  #producer: Producer | null = null;
  readonly #partitionOf: ReturnType<ICustomPartitioner>;
  /** The partitions of each topic, as of the last request. */
  readonly #topics = new Map<string, Partitions>();
  /** Those without a leader. */
  readonly #leaderless = new Map<string, readonly number[]>();
  /** The partitions of the records under way. */
  readonly #places = new Set<string>();
  /** The partition of each message under way. */
  readonly #placed = new Map<Message, string>();
  /** Whether kafkajs has tried to send the messages under way more than once. */
  #hasRetried = false;
  /** The partitions of the records under way to which kafkajs has sent nothing, because they have no leader. */
  readonly #unsent = new Map<string, Refusal>();

  /** @param retries how often kafkajs retries a request that fails as a whole */
  constructor(
    private readonly connection: KafkaConnection,
    private readonly retries: number,
  ) {
    this.#partitionOf = connection.partitioner();
  }

  async connect(): Promise<void> {
    this.#producer ??= await this.#connected();
  }

  async disconnect(): Promise<void> {
    const producer = this.#producer;
    this.#producer = null;
    await producer?.disconnect();
  }

  /** Returns the place of the record; `undefined` if it has no key, or if its topic is not known yet. */
  placeOf({ topic, key, partition }: NewRecord): string | undefined {
    if (partition !== undefined) return placeName(topic, partition);
    const partitionMetadata = this.#topics.get(topic);
    if (key === null || partitionMetadata === undefined) return undefined;
    return placeName(topic, this.#partitionOf({ topic, partitionMetadata, message: { key, value: null } }));
  }

  /**
   * Sends records that are too large for one request in several. Stops at the first request that fails as a whole, so
   * that later records of a partition cannot overtake it. A partition that refuses records gets no later ones.
   */
  async send(records: readonly NewRecord[], bytes: number): Promise<Refused> {
    if (bytes <= REQUEST_BYTES) return this.#send(records);
    const refused = new Map<NewRecord, Refusal>();
    const refusals = new Map<string, Refusal>();
    for (const stretch of stretchesOf(records, { bytes: REQUEST_BYTES })) {
      const taken: NewRecord[] = [];
      for (const record of stretch) {
        const refusal = refusals.size === 0 ? undefined : refusals.get(this.placeOf(record) ?? '');
        if (refusal === undefined) taken.push(record);
        else refused.set(record, refusal);
      }
      if (taken.length === 0) continue;
      for (const [record, refusal] of await this.#send(taken)) {
        refused.set(record, refusal);
        refusals.set(placeName(refusal.topic, refusal.partition), refusal);
      }
    }
    return refused;
  }

  async #send(records: readonly NewRecord[]): Promise<Refused> {
    const messages = records.map(toMessage);
    const byTopic = new Map<string, Message[]>();
    for (const [index, message] of messages.entries()) {
      const topic = records[index]?.topic ?? '';
      const ofTopic = byTopic.get(topic);
      if (ofTopic === undefined) byTopic.set(topic, [message]);
      else ofTopic.push(message);
    }
    const topicMessages = [...byTopic].map(([topic, ofTopic]) => ({ topic, messages: groupedAtOnce(ofTopic) }));
    const refused = new Map<NewRecord, Refusal>();
    try {
      await measureProduce(this.connection.metrics, topicMessages, () => this.#sendOnce(topicMessages));
    } catch (error) {
      if (!(error instanceof PartitionsRefusedError)) throw error;
      for (const [index, record] of records.entries()) {
        const refusal = error.refusals.get(this.#placed.get(messages[index] ?? NO_MESSAGE) ?? '');
        if (refusal !== undefined) refused.set(record, refusal);
      }
    } finally {
      this.#placed.clear();
      this.#unsent.clear();
      this.#hasRetried = false;
    }
    return refused;
  }

  /**
   * kafkajs numbers the records of a partition. It sends a batch again under the same numbers, and the broker drops
   * repeats. After a failure, kafkajs could reuse the numbers of stored records for new ones, which the broker would
   * drop. So a producer that failed is never used again, and neither is one whose numbers a partition lacks. The same goes
   * for one that succeeded with a repeat: an earlier try may still be under way, and kafkajs takes its numbers back when
   * that fails.
   */
  async #sendOnce(topicMessages: TopicMessages[]): Promise<void> {
    const producer = (this.#producer ??= await this.#connected());
    this.#places.clear();
    try {
      const written = await producer.sendBatch({ acks: -1, compression: CompressionTypes.None, topicMessages });
      const refusals = new Map(this.#unsent);
      for (const { topicName: topic, partition, errorCode } of written) {
        const error = refusalOf(errorCode);
        if (error === undefined) this.#places.delete(placeName(topic, partition));
        else refusals.set(placeName(topic, partition), { topic, partition, error });
      }
      // A partition that moves after it has refused is asked again, and may acknowledge.
      for (const place of refusals.keys()) if (!this.#places.delete(place)) refusals.delete(place);
      // If a partition moves to a broker that has already answered, kafkajs takes that answer for this partition, too.
      if (this.#places.size > 0) throw new Error(`not acknowledged: ${[...this.#places].join(', ')}`);
      if (refusals.size > 0) throw new PartitionsRefusedError(refusals);
    } catch (error) {
      this.#giveUp(producer);
      throw error;
    }
    if (this.#hasRetried) this.#giveUp(producer);
  }

  /** Lets the next request have another producer. */
  #giveUp(producer: Producer): void {
    this.#producer = null;
    void producer.disconnect().catch(() => undefined);
  }

  async #connected(): Promise<Producer> {
    const { kafka, partitioner } = this.connection;
    const producer = kafka.producer({
      allowAutoTopicCreation: false,
      idempotent: true,
      createPartitioner: () => this.#noting(partitioner()),
      retry: { retries: this.retries, initialRetryTime: 100, maxRetryTime: 1_000 },
    });
    try {
      await producer.connect();
    } catch (error) {
      // It may have connected, and got no id.
      void producer.disconnect().catch(() => undefined);
      throw error;
    }
    return producer;
  }

  #noting(place: ReturnType<ICustomPartitioner>): ReturnType<ICustomPartitioner> {
    return (record) => {
      const { topic, partitionMetadata, message } = record;
      const partition = place(record);
      const name = placeName(topic, partition);
      const isRepeat = this.#placed.has(message);
      this.#hasRetried ||= isRepeat;
      if (this.#topics.get(topic) !== partitionMetadata) this.#noteLeaders(topic, partitionMetadata);
      if (this.#leaderless.get(topic)?.includes(partition) !== true) this.#unsent.delete(name);
      else if (!this.#unsent.has(name)) {
        const error = noLeaderError(topic, partition);
        // What has been sent once may have been written. kafkajs tries again, until the partition has a leader.
        if (isRepeat) throw error;
        this.#unsent.set(name, { topic, partition, error });
      }
      this.#places.add(name);
      this.#placed.set(message, name);
      return partition;
    };
  }

  #noteLeaders(topic: string, partitions: Partitions): void {
    this.#topics.set(topic, partitions);
    const leaderless = leaderlessOf(partitions);
    if (leaderless.length > 0) this.#leaderless.set(topic, leaderless);
    else this.#leaderless.delete(topic);
  }
}
