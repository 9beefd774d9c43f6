import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import kafkajs, { type Consumer, type KafkaMessage, type Message, type Producer } from 'kafkajs';
import { eventJson } from '../traffic/event-bodies.js';
import { monotonicMs } from '../traffic/monotonic-clock.js';
import { SignedPosts } from '../traffic/signed-posts.js';
import { GatheringProducer } from './gathering-producer.js';
import { EVENT_ID_HEADER, SENT_AT_HEADER, type Hop } from './hop.js';

const { CompressionTypes, Kafka, logLevel } = kafkajs;

export interface PartOptions {
  readonly brokers: string;
  readonly hops: readonly Hop[];
}

export interface FeedOrder {
  readonly topic: string;
  readonly events: number;
  /** How many records are not acknowledged yet, at most. */
  readonly inFlight: number;
  /** The keys that records get in turn. */
  readonly keys: number;
  /** As fast as they are acknowledged unless given. */
  readonly perSecond?: number | undefined;
}

/** When the first event was handed to the client, and when the last one was acknowledged; by `monotonicMs`. */
export interface FedEvents {
  readonly firstSentAt: number;
  readonly lastAcknowledgedAt: number;
}

/** How far the hops of a part are. */
export interface PartProgress {
  /** Events that came out at the end: counted, pushed, or written to the outcomes and acknowledged. */
  readonly passed: number;
  /** When the last of them did, by `monotonicMs`. */
  readonly lastPassedAt: number;
  /** What all hops of the part were handed over, and in how many batches. */
  readonly records: number;
  readonly batches: number;
}

/** As the stages have it. */
const CONSUMER = {
  sessionTimeout: 10_000,
  heartbeatInterval: 1_000,
  maxWaitTimeInMs: 200,
  minBytes: 1,
  maxBytesPerPartition: 1024 * 1024,
  maxBytes: 8 * 1024 * 1024,
};
const COMMIT_EVERY_MS = 250;
const PARTITIONS_AT_A_TIME = 64;

/** One process' share of the bare pipeline: kafkajs, and as little as possible around it. */
export class Part {
  readonly #kafka;
  readonly #producer: Producer;
  readonly #consumers: Consumer[] = [];
  readonly #posts: SignedPosts[] = [];
  #passed = 0;
  #lastPassedAt = Number.NaN;
  #records = 0;
  #batches = 0;
  #latenciesMs: number[] = [];
  #failure: Error | undefined;

  constructor(private readonly options: PartOptions) {
    this.#kafka = new Kafka({
      brokers: options.brokers.split(','),
      clientId: 'bare-pipeline',
      logLevel: logLevel.NOTHING,
    });
    this.#producer = this.#kafka.producer({
      allowAutoTopicCreation: false,
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    });
  }

  async start(): Promise<void> {
    await this.#producer.connect();
    await Promise.all(this.options.hops.map((hop) => this.#run(hop)));
  }

  /** Appends events to the topic, as many at a time as are to be in flight. */
  async feed({ topic, events, inFlight, keys, perSecond = Infinity }: FeedOrder): Promise<FedEvents> {
    const producer = new GatheringProducer(this.#producer, topic);
    const value = Buffer.from(eventJson({ event: 'ticket.created' }));
    const run = randomUUID();
    let fed = 0;
    const feedOn = async () => {
      while (fed < events) {
        const index = fed++;
        const waitMs = firstSentAt + (index * 1_000) / perSecond - monotonicMs();
        if (waitMs > 0) await delay(waitMs);
        const headers = { [EVENT_ID_HEADER]: `${run}-${index}`, [SENT_AT_HEADER]: String(monotonicMs()) };
        await producer.append({ key: `key-${index % keys}`, value, headers });
      }
    };
    const firstSentAt = monotonicMs();
    await Promise.all(Array.from({ length: inFlight }, feedOn));
    return { firstSentAt, lastAcknowledgedAt: monotonicMs() };
  }

  /** @throws what went wrong in a hop */
  progress(): PartProgress {
    if (this.#failure !== undefined) throw this.#failure;
    return {
      passed: this.#passed,
      lastPassedAt: this.#lastPassedAt,
      records: this.#records,
      batches: this.#batches,
    };
  }

  /** How long each event took until its push was answered, of those that were pushed since this was asked before. */
  takeLatenciesMs(): readonly number[] {
    const latencies = this.#latenciesMs;
    this.#latenciesMs = [];
    return latencies;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => consumer.disconnect()));
    await this.#producer.disconnect();
    await Promise.all(this.#posts.map((posts) => posts.end()));
  }

  async #run(hop: Hop): Promise<void> {
    const handle = this.#handlerOf(hop);
    const consumer = this.#kafka.consumer({ groupId: `bare-pipeline-${hop.from}`, ...CONSUMER });
    this.#consumers.push(consumer);
    const joined = new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve));
    await consumer.connect();
    await consumer.subscribe({ topics: [hop.from], fromBeginning: true });
    await consumer.run({
      autoCommitInterval: COMMIT_EVERY_MS,
      partitionsConsumedConcurrently: PARTITIONS_AT_A_TIME,
      eachBatch: async ({ batch }) => {
        this.#records += batch.messages.length;
        this.#batches++;
        try {
          await handle(batch.messages);
        } catch (error) {
          // Nothing is tried again here: the measurement has to report the failure.
          this.#failure ??= error instanceof Error ? error : new Error(String(error));
        }
      },
    });
    await joined;
  }

  #handlerOf(hop: Hop): (messages: readonly KafkaMessage[]) => Promise<void> {
    switch (hop.kind) {
      case 'count':
        return (messages) => {
          this.#notePassed(messages.length);
          return Promise.resolve();
        };
      case 'forward':
        return async (messages) => {
          await this.#producer.send({
            topic: hop.to,
            acks: -1,
            compression: CompressionTypes.None,
            messages: messages.map(copyOf),
          });
        };
      case 'push':
        return this.#pusher(hop);
    }
  }

  #pusher({ url, connections, outcomesTo }: Extract<Hop, { kind: 'push' }>) {
    const posts = new SignedPosts(url, connections);
    this.#posts.push(posts);
    const outcomes = outcomesTo === undefined ? undefined : new GatheringProducer(this.#producer, outcomesTo);
    const push = async ({ key, value, headers }: KafkaMessage) => {
      const eventId = String(headers?.[EVENT_ID_HEADER]);
      await posts.post(eventId, value ?? Buffer.of());
      this.#latenciesMs.push(monotonicMs() - Number(headers?.[SENT_AT_HEADER]));
      await outcomes?.append({ key, value: `{"id":"${eventId}","response_status":200}` });
      this.#notePassed(1);
    };
    return async (messages: readonly KafkaMessage[]) => {
      await Promise.all(messages.map(push));
    };
  }

  #notePassed(count: number): void {
    this.#passed += count;
    this.#lastPassedAt = monotonicMs();
  }
}

function copyOf({ key, value, headers }: KafkaMessage): Message {
  return { key, value, ...(headers === undefined ? {} : { headers }) };
}
