import { CompressionTypes, Partitioners, type ICustomPartitioner, type Kafka, type Producer } from 'kafkajs';
import { batchesOf, type BatchLimits } from '../events/batches.js';
import type { EventSink } from '../events/event-sink.js';
import type { ReadyEvent } from '../events/ready-event.js';

export interface KafkaSinkOptions {
  readonly kafka: Kafka;
  /** The prefix of the service's topic names; default `gapless`. */
  readonly topicPrefix?: string;
  /**
   * The `PARTITIONS` of the service; by default, the topic's present number. Set it if the inbox has more. The service
   * keeps to its own number: an event that is not in the partition of its organization becomes a dead letter.
   */
  readonly partitions?: number;
  /** How often kafkajs retries before `send` rejects, at least once; 5 times by default. */
  readonly retries?: number;
}

const DEFAULT_RETRIES = 5;
/** Well below the megabyte that a broker accepts by default. */
const REQUEST: BatchLimits = { events: 500, bytes: 512 * 1024 };

/**
 * Appends events to the inbox topic itself, keyed by organization, by an idempotent producer. Nothing validates the
 * events before that, so an invalid event becomes a dead letter.
 */
export class KafkaSink implements EventSink {
  /** Nobody looks an id up in the feed before it is in the inbox. */
  readonly repeatsExpire = true;
  readonly #options: KafkaSinkOptions;
  #producer: Promise<Producer> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  /** The partitions of the events under way. */
  readonly #places = new Set<number>();

  /** @throws RangeError when `partitions` is no integer from 1 on */
  constructor(options: KafkaSinkOptions) {
    const { partitions } = options;
    if (partitions !== undefined && !(Number.isSafeInteger(partitions) && partitions >= 1)) {
      throw new RangeError(`partitions has to be an integer from 1 on, but is ${String(partitions)}`);
    }
    this.#options = options;
  }

  send(events: readonly ReadyEvent[]): Promise<void> {
    if (this.#isClosed) return Promise.reject(new Error('the KafkaSink is closed'));
    // One request at a time, because a producer's sequence numbers must arrive in order.
    const sent = this.#last.then(() => this.#send(events));
    this.#last = sent.catch(() => undefined);
    return sent;
  }

  /** Waits for the requests under way, then disconnects. Later calls of `send` reject. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
    await this.#discard();
  }

  async #send(events: readonly ReadyEvent[]): Promise<void> {
    try {
      this.#producer ??= this.#connect();
      const producer = await this.#producer;
      for (const batch of batchesOf(events, REQUEST)) await this.#append(producer, batch);
    } catch (error) {
      // The brokers may have the records although we got no answer. The same producer would use their sequence numbers
      // for the next records, and the brokers would drop those as repeats.
      await this.#discard();
      throw error;
    }
  }

  async #append(producer: Producer, batch: readonly ReadyEvent[]): Promise<void> {
    this.#places.clear();
    const written = await producer.send({
      topic: `${this.#options.topicPrefix ?? 'gapless'}.inbox.v1`,
      acks: -1,
      compression: CompressionTypes.None,
      messages: batch.map(({ orgId, json }) => ({ key: orgId, value: json })),
    });
    for (const { partition } of written) this.#places.delete(partition);
    // If a partition moves to a broker that has already answered, kafkajs takes that answer for this partition, too.
    if (this.#places.size > 0) throw new Error(`not acknowledged: partitions ${[...this.#places].join(', ')}`);
  }

  async #connect(): Promise<Producer> {
    const producer = this.#options.kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      // The same partitioner as the service, so that all producers use the same partition for an organization.
      createPartitioner: () => this.#noting(this.#partitioner()),
      retry: { retries: this.#options.retries ?? DEFAULT_RETRIES },
    });
    await producer.connect();
    return producer;
  }

  #partitioner(): ReturnType<ICustomPartitioner> {
    const place = Partitioners.DefaultPartitioner();
    return ({ partitionMetadata, ...record }) =>
      // A key is placed by the number of partitions alone.
      place({ ...record, partitionMetadata: partitionMetadata.slice(0, this.#options.partitions) });
  }

  #noting(place: ReturnType<ICustomPartitioner>): ReturnType<ICustomPartitioner> {
    return (record) => {
      const partition = place(record);
      this.#places.add(partition);
      return partition;
    };
  }

  async #discard(): Promise<void> {
    const producer = await this.#producer?.catch(() => undefined);
    this.#producer = undefined;
    await producer?.disconnect().catch(() => undefined);
  }
}
