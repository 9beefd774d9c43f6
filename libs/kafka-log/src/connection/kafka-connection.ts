import { Kafka, logLevel, type Admin, type ICustomPartitioner, type LogEntry } from 'kafkajs';
import { messageOf } from '#libs/domain';
import { Metrics } from '#libs/telemetry';
import { untilItWorks, type Logger } from '#libs/runtime';
import type { KafkaAccess } from './kafka-access.js';
import { CountedSockets } from './counted-sockets.js';
import { KeyPlaces } from '../topics/key-places.js';
import { keyedPartitioner } from '../topics/keyed-partitioner.js';
import { isPassingKafkaError } from './is-passing-kafka-error.js';
import { onFailedConnect } from '../kafkajs/silent-brokers/finish-connecting.js';
import { stayWithOneCluster } from '../kafkajs/one-cluster.js';
import { patchKafkajs } from '../kafkajs/patch-kafkajs.js';
import { AcceptedSessionTimes } from './session-times.js';

patchKafkajs();

export interface KafkaConnectionOptions {
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly logger: Logger;
  /** Credentials, if the brokers require them. */
  readonly access?: KafkaAccess;
  /** Where to count requests and bytes; none are counted without it. */
  readonly metrics?: Metrics;
  /** A client to use instead of a new one, for simulations without brokers. */
  readonly kafka?: Kafka;
  /** Returns how often a connection of `kafka` broke. */
  readonly interruptions?: () => number;
  /** The installation's number of partitions. Without it, keys are placed by the partitions of each topic. */
  readonly partitions?: number;
}

/** Relays kafkajs' log. kafkajs retries most of the errors that it reports, and the stages log what fails for them. */
function relay(logger: Logger): (entry: LogEntry) => void {
  return ({ level, namespace, log }) => {
    const fields = { kafkajs: namespace, error: typeof log['error'] === 'string' ? log['error'] : undefined };
    if (level === logLevel.ERROR) logger.debug(fields, log.message);
    else logger.trace(fields, log.message);
  };
}

/** A process' connection to the brokers. */
export class KafkaConnection {
  readonly kafka: Kafka;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly sessionTimes = new AcceptedSessionTimes();
  /** Places records by their keys. */
  readonly partitioner: ICustomPartitioner;
  readonly #places: KeyPlaces | null;
  readonly #sockets = new CountedSockets();
  readonly #interruptions: () => number;

  constructor(options: KafkaConnectionOptions) {
    this.logger = options.logger;
    this.metrics = options.metrics ?? new Metrics();
    this.#interruptions = options.interruptions ?? (() => this.#sockets.interruptions);
    stayWithOneCluster(this.#sockets.open);
    // Each client of kafkajs begins at the first. A broker that cannot be connected to goes last, so that others do not
    // wait for it, too.
    let seeds = [...options.brokers];
    onFailedConnect(this.#sockets.open, (address) => {
      if (seeds.includes(address)) seeds = [...seeds.filter((seed) => seed !== address), address];
    });
    this.partitioner = keyedPartitioner(options.partitions);
    this.#places = options.partitions === undefined ? null : new KeyPlaces(options.partitions);
    this.kafka =
      options.kafka ??
      new Kafka({
        socketFactory: this.#sockets.open,
        clientId: options.clientId,
        brokers: () => seeds,
        ...options.access,
        // Well within the sequencer's session, so that its lease check stays meaningful when a connection hangs.
        requestTimeout: 3_000,
        enforceRequestTimeout: true,
        connectionTimeout: 3_000,
        // A few seconds in all: callers get an answer in time, and every stage retries by itself.
        retry: { retries: 3, initialRetryTime: 100, maxRetryTime: 1_000 },
        logLevel: logLevel.WARN,
        logCreator: () => relay(options.logger),
      });
  }

  /** How often a connection to a broker broke. After each, topics may have changed. */
  get interruptions(): number {
    return this.#interruptions();
  }

  /** Whether the partition is the one of the key. If the number of partitions is unknown, any is. */
  isPlaceOf(key: string, partition: number): boolean {
    return this.#places === null || this.#places.of(key) === partition;
  }

  /** Whether the installation has the partition. A topic that was altered may have more. */
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
   * Waits with back-off until a broker answers, without a limit, and reports what it waits for.
   * @throws an error that does not pass, such as a refused login
   */
  async waitUntilReachable(onWait: (reason: string) => void, signal?: AbortSignal): Promise<void> {
    await untilItWorks(() => this.withAdmin((admin) => admin.describeCluster()), {
      ...(signal === undefined ? {} : { signal }),
      onFailure: (error, failures, waitMs) => {
        if (!isPassingKafkaError(error)) throw error;
        const reason = messageOf(error);
        onWait(reason);
        this.logger.warn({ reason, failures, wait_ms: waitMs }, 'kafka.waiting');
      },
    });
  }
}
