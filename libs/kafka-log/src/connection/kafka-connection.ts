import { Kafka, logLevel, type Admin, type ICustomPartitioner, type LogEntry } from 'kafkajs';
import { Metrics } from '#libs/telemetry';
import { untilItWorks, type Logger } from '#libs/runtime';
import type { KafkaAccess } from './kafka-access.js';
import { CountedSockets } from './counted-sockets.js';
import { KeyPlaces } from '../topics/key-places.js';
import { keyedPartitioner } from '../topics/keyed-partitioner.js';
import { isPassingKafkaError } from './is-passing-kafka-error.js';
import { announceJoins } from '../kafkajs/before-join.js';
import { finishConnecting } from '../kafkajs/finish-connecting.js';
import { commitOnce } from '../kafkajs/commit-once.js';
import { replaceReset } from '../kafkajs/out-of-range.js';
import { replaceCodec } from '../kafkajs/replace-codec.js';
import { fetchLessWhenQuiet } from '../kafkajs/quiet-fetches.js';
import { stillQueues } from '../kafkajs/still-queues.js';
import { AcceptedSessionTimes } from './session-times.js';

replaceCodec();
replaceReset();
commitOnce();
announceJoins();
fetchLessWhenQuiet();
stillQueues();
finishConnecting();

export interface KafkaConnectionOptions {
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly logger: Logger;
  /** For brokers that are not open to everyone. */
  readonly access?: KafkaAccess;
  /** Where what goes over the connection is measured, if somebody wants to know. */
  readonly metrics?: Metrics;
  /** A client to use in place of one that is made here: for a simulation without brokers. */
  readonly kafka?: Kafka;
  /** How often a connection of that client broke. */
  readonly interruptions?: () => number;
  /** How many partitions the installation has; without it, keys go by what each topic has. */
  readonly partitions?: number;
}

/** kafkajs mostly retries what it reports as an error. The stages log what it means for them. */
function relay(logger: Logger): (entry: LogEntry) => void {
  return ({ level, namespace, log }) => {
    const fields = { kafkajs: namespace, error: typeof log['error'] === 'string' ? log['error'] : undefined };
    if (level === logLevel.ERROR) logger.debug(fields, log.message);
    else logger.trace(fields, log.message);
  };
}

/** One process' access to the brokers. */
export class KafkaConnection {
  readonly kafka: Kafka;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly sessionTimes = new AcceptedSessionTimes();
  /** How producers place records by their keys. */
  readonly partitioner: ICustomPartitioner;
  readonly #places: KeyPlaces | null;
  readonly #sockets = new CountedSockets();
  readonly #interruptions: () => number;

  constructor(options: KafkaConnectionOptions) {
    this.logger = options.logger;
    this.metrics = options.metrics ?? new Metrics();
    this.#interruptions = options.interruptions ?? (() => this.#sockets.interruptions);
    this.partitioner = keyedPartitioner(options.partitions);
    this.#places = options.partitions === undefined ? null : new KeyPlaces(options.partitions);
    this.kafka =
      options.kafka ??
      new Kafka({
        socketFactory: this.#sockets.open,
        clientId: options.clientId,
        brokers: [...options.brokers],
        ...options.access,
        // A stuck connection is given up well within the sequencer's session, so that its lease check stays meaningful.
        requestTimeout: 3_000,
        enforceRequestTimeout: true,
        connectionTimeout: 3_000,
        // Some seconds in all: callers get an answer in time, and every stage retries by itself.
        retry: { retries: 3, initialRetryTime: 100, maxRetryTime: 1_000 },
        logLevel: logLevel.WARN,
        logCreator: () => relay(options.logger),
      });
  }

  /** How often a connection to a broker broke: after that, topics may not be what they were. */
  get interruptions(): number {
    return this.#interruptions();
  }

  /** Whether records of the key belong to the partition. Unknown partition counts allow any. */
  isPlaceOf(key: string, partition: number): boolean {
    return this.#places === null || this.#places.of(key) === partition;
  }

  /** Whether the installation has the partition: a topic that was altered may have more. */
  isOwnPartition(partition: number): boolean {
    return this.#places === null || partition < this.#places.partitions;
  }

  async withAdmin<T>(act: (admin: Admin) => Promise<T>): Promise<T> {
    const admin = this.kafka.admin({ retry: { retries: 3, initialRetryTime: 100 } });
    await admin.connect();
    try {
      return await act(admin);
    } finally {
      await admin.disconnect();
    }
  }

  /**
   * Waits with back-off until a broker answers, however long that takes, and says what it waits for.
   * @throws what the broker refuses for good, such as a client that may not connect
   */
  async waitUntilReachable(onWait: (reason: string) => void, signal?: AbortSignal): Promise<void> {
    await untilItWorks(() => this.withAdmin((admin) => admin.describeCluster()), {
      ...(signal === undefined ? {} : { signal }),
      onFailure: (error, failures, waitMs) => {
        if (!isPassingKafkaError(error)) throw error;
        const reason = error instanceof Error ? error.message : String(error);
        onWait(reason);
        this.logger.warn({ reason, failures, wait_ms: waitMs }, 'kafka.waiting');
      },
    });
  }
}
