import { createRequire } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import kafkajs, {
  type Consumer,
  type ConsumerConfig,
  type ConsumerRunConfig,
  type PartitionAssigner,
  type TopicPartitionOffsetAndMetadata,
  type TopicPartitions,
} from 'kafkajs';
import { joinWithRetries, type JoiningGroup } from '../../../libs/kafka-log/src/kafkajs/before-join.js';
import { BrokerError, isRebalancing, isUnknownMember } from './broker-errors.js';
import type { Broker, FetchedPartition, FetchPlace } from './broker.js';
import type { CommittedOffset, Joined } from './consumer-group.js';
import { asKafkaMessage } from './partition-log.js';
import { retried, retriedUnlessBailed } from './retry.js';

const REQUEST_TIMEOUT_MS = 3_000;
const OFFSET_MANAGER = 'kafkajs/src/consumer/offsetManager/index.js';
/**
 * For how long a fetch waits while nothing comes, as a share of the session: longer than in truth, which would be most of
 * a history, and short enough for a lease to stay certain.
 */
const IDLE_SHARE = 1 / 3;

const EVENTS = {
  HEARTBEAT: 'consumer.heartbeat',
  COMMIT_OFFSETS: 'consumer.commit_offsets',
  GROUP_JOIN: 'consumer.group_join',
  FETCH_START: 'consumer.fetch_start',
  FETCH: 'consumer.fetch',
  START_BATCH_PROCESS: 'consumer.start_batch_process',
  END_BATCH_PROCESS: 'consumer.end_batch_process',
  CONNECT: 'consumer.connect',
  DISCONNECT: 'consumer.disconnect',
  STOP: 'consumer.stop',
  CRASH: 'consumer.crash',
  REBALANCING: 'consumer.rebalancing',
  RECEIVED_UNSUBSCRIBED_TOPICS: 'consumer.received_unsubscribed_topics',
  REQUEST: 'consumer.network.request',
  REQUEST_TIMEOUT: 'consumer.network.request_timeout',
  REQUEST_QUEUE_SIZE: 'consumer.network.request_queue_size',
} as const;

const EARLIEST = '-2';

const OffsetManager = createRequire(import.meta.url)(OFFSET_MANAGER) as {
  readonly prototype: { setDefaultOffset(this: unknown, place: { topic: string; partition: number }): Promise<void> };
};

type Listener = (event: { readonly payload: unknown }) => void;

function keyOf(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

/**
 * A consumer as kafkajs 2.2 has it: one fetch at a time, which waits until every batch of the one before is handled;
 * heartbeats between batches; a rebalance is noticed by a heartbeat, and waits for the batches that are handled.
 */
export class SimulatedConsumer {
  readonly events = EVENTS;
  readonly #listeners = new Map<string, Listener[]>();
  #topics: readonly string[] = [];
  #run: ConsumerRunConfig | null = null;
  #running = false;
  /** Until `disconnect` is called. */
  #isConnected = true;
  /** Whether there is a group to speak of: between `run` and the end. */
  #hasGroup = false;
  #memberId = '';
  #generation = 0;
  #assigned: Joined['assignment'] = {};
  #lastRequestMs = 0;
  #heartbeating: Promise<void> | null = null;
  /** Where the next fetch begins, by partition. */
  readonly #next = new Map<string, number>();
  readonly #seeks = new Map<string, number>();
  readonly #paused = new Set<string>();
  readonly #assigner: ReturnType<PartitionAssigner> | undefined;
  #loop: Promise<void> = Promise.resolve();
  #wake: () => void = () => undefined;

  constructor(
    private readonly broker: Broker,
    private readonly config: ConsumerConfig,
  ) {
    this.#assigner = config.partitionAssigners?.[0]?.({
      cluster: undefined as never,
      groupId: config.groupId,
      logger: undefined as never,
    });
  }

  on(name: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(name) ?? [];
    listeners.push(listener);
    this.#listeners.set(name, listeners);
    return () => {
      listeners.splice(listeners.indexOf(listener), 1);
    };
  }

  connect(): Promise<void> {
    return retried(this.config.retry ?? {}, () => this.#ask('connect consumer', () => undefined));
  }

  async disconnect(): Promise<void> {
    await this.stop();
  }

  subscribe({ topics }: { topics: readonly string[] }): Promise<void> {
    this.#topics = topics;
    return Promise.resolve();
  }

  async run(run: ConsumerRunConfig): Promise<void> {
    this.#run = run;
    this.#hasGroup = true;
    try {
      await this.#join();
    } catch (error) {
      await this.#crash(error);
      return;
    }
    // Disconnected meanwhile: what the coordinator answers does not come to it any more.
    if (!this.#isConnected) return;
    this.#running = true;
    this.#loop = this.#consume();
  }

  async stop(): Promise<void> {
    this.#isConnected = false;
    if (!this.#hasGroup) return;
    this.#running = false;
    this.#wake();
    await this.#loop;
    this.#hasGroup = false;
    const memberId = this.#memberId;
    this.#memberId = '';
    if (memberId === '') return;
    await this.#ask(`leave ${this.config.groupId}`, () => {
      this.broker.group(this.config.groupId).leave(memberId);
    }).catch(() => undefined);
  }

  pause(places: readonly TopicPartitions[]): void {
    this.#assertGroup();
    for (const { topic, partitions } of places) for (const one of partitions) this.#paused.add(keyOf(topic, one));
  }

  resume(places: readonly TopicPartitions[]): void {
    this.#assertGroup();
    for (const { topic, partitions } of places) for (const one of partitions) this.#paused.delete(keyOf(topic, one));
    this.#wake();
  }

  paused(): TopicPartitions[] {
    return Object.entries(this.#assigned).map(([topic, partitions]) => ({
      topic,
      partitions: partitions.filter((partition) => this.#paused.has(keyOf(topic, partition))),
    }));
  }

  seek({ topic, partition, offset }: { topic: string; partition: number; offset: string }): void {
    this.#assertGroup();
    this.#seeks.set(keyOf(topic, partition), Number(offset));
    this.#wake();
  }

  async commitOffsets(places: readonly TopicPartitionOffsetAndMetadata[]): Promise<void> {
    this.#assertGroup();
    if (!this.#running) return;
    const offsets = new Map<string, CommittedOffset>(
      places.map(({ topic, partition, offset, metadata }) => [
        keyOf(topic, partition),
        { offset: Number(offset), metadata: metadata ?? null },
      ]),
    );
    const { groupId } = this.config;
    const [memberId, generation] = [this.#memberId, this.#generation];
    await this.#ask(`commit ${groupId}`, () => {
      this.broker.group(groupId).commit(memberId, generation, offsets);
    });
  }

  #assertGroup(): void {
    if (this.#hasGroup) return;
    throw new kafkajs.KafkaJSNonRetriableError('Consumer group was not initialized, consumer#run must be called first');
  }

  #emit(name: string, payload: unknown): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) listener({ payload });
  }

  #ask<T>(name: string, find: () => T): Promise<T> {
    return this.broker.request<T>(name, REQUEST_TIMEOUT_MS, (answer) => {
      answer.resolve(find());
    });
  }

  /** As `announceJoins` has kafkajs do it. */
  #join(): Promise<void> {
    const { retry = {} } = this.config;
    const group: JoiningGroup = {
      memberId: this.#memberId === '' ? null : this.#memberId,
      assigners: this.#assigner === undefined ? [] : [this.#assigner],
      seekOffset: this.#seeks,
      retrier: (act) => retriedUnlessBailed(retry, act),
      heartbeat: () => this.#beat(),
    };
    return joinWithRetries(group, () => this.#joinOnce());
  }

  async #joinOnce(): Promise<void> {
    const { groupId, sessionTimeout = 30_000, rebalanceTimeout = 60_000 } = this.config;
    await retriedUnlessBailed(this.config.retry ?? {}, async (bail) => {
      try {
        const request = {
          memberId: this.#memberId,
          topics: this.#topics,
          sessionTimeoutMs: sessionTimeout,
          rebalanceTimeoutMs: rebalanceTimeout,
          assigner: this.#assigner?.name === 'RoundRobinAssigner' ? undefined : this.config.partitionAssigners?.[0],
        };
        const joined = await this.broker.request<Joined>(`join ${groupId}`, rebalanceTimeout + 5_000, (answer) => {
          this.broker.group(groupId).join(request, answer);
        });
        if (!this.#isConnected) return;
        this.#memberId = joined.memberId;
        this.#generation = joined.generation;
        this.#assigned = joined.assignment;
        this.#next.clear();
        // kafkajs keeps pauses over a rebalance, of what is still its own.
        const own = new Set(
          Object.entries(joined.assignment).flatMap(([topic, all]) => all.map((p) => keyOf(topic, p))),
        );
        for (const key of [...this.#paused]) if (!own.has(key)) this.#paused.delete(key);
        this.#lastRequestMs = Date.now();
      } catch (error) {
        if (isUnknownMember(error)) this.#memberId = '';
        if (isRebalancing(error) || isUnknownMember(error)) throw new kafkajs.KafkaJSError(error as Error);
        bail(error);
      }
    });
    if (!this.#isConnected) return;
    this.#emit(EVENTS.GROUP_JOIN, {
      groupId,
      memberId: this.#memberId,
      memberAssignment: this.#assigned,
      isLeader: false,
      leaderId: '',
      groupProtocol: '',
      duration: 0,
    });
  }

  async #consume(): Promise<void> {
    let failures = 0;
    const { retries = 5, initialRetryTime = 300, maxRetryTime = 30_000 } = this.config.retry ?? {};
    while (this.#running) {
      try {
        await this.#fetchAndHandle().catch((error: unknown) => this.#joinAfter(error));
        failures = 0;
      } catch (error) {
        // A join that failed as well is followed by the next fetch.
        if (++failures > retries || (error as { retriable?: boolean }).retriable === false) {
          this.#running = false;
          // Not waited for: it waits for this loop.
          void this.#crash(error);
          return;
        }
        await delay(Math.min(initialRetryTime * 2 ** (failures - 1), maxRetryTime));
      }
    }
  }

  /** @throws what joining again does not fix */
  async #joinAfter(error: unknown): Promise<void> {
    if (isRebalancing(error)) {
      this.#emit(EVENTS.REBALANCING, { groupId: this.config.groupId, memberId: this.#memberId });
      await this.#join();
    } else if (isUnknownMember(error)) {
      this.#memberId = '';
      await this.#join();
    } else throw error;
  }

  async #crash(error: unknown): Promise<void> {
    await this.stop();
    const cause = error instanceof Error ? error : new Error(String(error));
    this.#emit(EVENTS.CRASH, { error: cause, groupId: this.config.groupId, restart: false });
  }

  async #fetchAndHandle(): Promise<void> {
    const fetched = await this.#fetch();
    if (!this.#running) return;
    if (fetched.length === 0) {
      await this.#heartbeat();
      return;
    }
    const results = await Promise.allSettled(fetched.map((batch) => this.#handle(batch)));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #fetch(): Promise<readonly FetchedPartition[]> {
    await this.#resolvePlaces();
    const places = Object.entries(this.#assigned).flatMap(([topic, partitions]) =>
      partitions.flatMap((partition): FetchPlace[] => {
        const key = keyOf(topic, partition);
        const offset = this.#next.get(key);
        return offset === undefined || this.#paused.has(key) ? [] : [{ topic, partition, offset }];
      }),
    );
    const { maxWaitTimeInMs = 5_000, minBytes = 1, sessionTimeout = 30_000, groupId } = this.config;
    const idleMs = sessionTimeout * IDLE_SHARE;
    const woken = new Promise<readonly FetchedPartition[]>((resolve) => {
      this.#wake = () => {
        resolve([]);
      };
    });
    if (places.length === 0) {
      // Others, that are looked at more often than this, would be most of a history.
      await Promise.race([woken, delay(Math.max(maxWaitTimeInMs, 1_000))]);
      return [];
    }
    const request = { places, gatherMs: minBytes > 1 ? maxWaitTimeInMs : 0, idleMs, groupId };
    try {
      const fetched = await Promise.race([
        woken,
        this.broker.request<readonly FetchedPartition[]>(`fetch ${groupId}`, idleMs + REQUEST_TIMEOUT_MS, (answer) => {
          this.broker.fetch(request, answer);
        }),
      ]);
      return fetched.filter(({ topic, partition }) => {
        const key = keyOf(topic, partition);
        return !this.#seeks.has(key) && !this.#paused.has(key);
      });
    } catch (error) {
      if (!(error instanceof BrokerError) || error.type !== 'OFFSET_OUT_OF_RANGE') throw error;
      const { topic, partition } = error as unknown as { topic: string; partition: number };
      await this.#toBeginning(topic, partition);
      return [];
    }
  }

  /** Handles an offset that the broker does not have: by kafkajs' own method, as `replaceReset` has it. */
  async #toBeginning(topic: string, partition: number): Promise<void> {
    const { groupId } = this.config;
    const key = keyOf(topic, partition);
    const [memberId, generation] = [this.#memberId, this.#generation];
    const coordinator = {
      offsetCommit: async () => {
        const { start } = await this.#ask(`start of ${topic}`, () => this.broker.log(topic, partition));
        await this.#ask(`commit ${groupId}`, () => {
          const offsets = new Map([[key, { offset: start, metadata: null }]]);
          this.broker.group(groupId).commit(memberId, generation, offsets);
        });
      },
    };
    const manager = {
      groupId,
      generationId: generation,
      memberId,
      topicConfigurations: {},
      cluster: { defaultOffset: () => EARLIEST },
      getCoordinator: () => Promise.resolve(coordinator),
      nextOffset: () => this.#next.get(key) ?? 0,
      clearOffsets: () => this.#next.delete(key),
    };
    await OffsetManager.prototype.setDefaultOffset.call(manager, { topic, partition });
  }

  /** Begins at the place that was sought, otherwise at the group's offset, otherwise at the beginning. */
  async #resolvePlaces(): Promise<void> {
    const { groupId } = this.config;
    const all = Object.entries(this.#assigned).flatMap(([topic, partitions]) =>
      partitions.map((partition) => ({ topic, partition, key: keyOf(topic, partition) })),
    );
    for (const { key } of all) {
      const sought = this.#seeks.get(key);
      if (sought === undefined) continue;
      this.#seeks.delete(key);
      this.#next.set(key, sought);
    }
    const unknown = all.filter(({ key }) => !this.#next.has(key));
    if (unknown.length === 0) return;
    const found = await this.#ask(`places of ${groupId}`, () => {
      const { offsets } = this.broker.group(groupId);
      return unknown.map(({ topic, partition, key }) => ({
        key,
        offset: offsets.get(key)?.offset ?? this.broker.log(topic, partition).start,
      }));
    });
    for (const { key, offset } of found) if (!this.#next.has(key)) this.#next.set(key, offset);
  }

  async #heartbeat(): Promise<void> {
    const interval = this.config.heartbeatInterval ?? 3_000;
    if (this.#memberId === '' || Date.now() < this.#lastRequestMs + interval) return;
    this.#heartbeating ??= this.#beat().finally(() => {
      this.#heartbeating = null;
    });
    await this.#heartbeating;
  }

  async #beat(): Promise<void> {
    const { groupId } = this.config;
    const [memberId, generation] = [this.#memberId, this.#generation];
    await this.#ask(`heartbeat ${groupId}`, () => {
      this.broker.group(groupId).heartbeat(memberId, generation);
    });
    this.#emit(EVENTS.HEARTBEAT, { groupId, memberId, groupGenerationId: generation });
    this.#lastRequestMs = Date.now();
  }

  async #handle({ topic, partition, offset, records, highWatermark }: FetchedPartition): Promise<void> {
    if (!this.#running) return;
    const key = keyOf(topic, partition);
    if (records.length > 0) {
      const messages = records.map(asKafkaMessage);
      const lastOffset = messages.at(-1)?.offset ?? String(offset);
      const payload = {
        batch: {
          topic,
          partition,
          highWatermark: String(highWatermark),
          messages,
          isEmpty: () => false,
          firstOffset: () => messages[0]?.offset ?? null,
          lastOffset: () => lastOffset,
          offsetLag: () => '0',
          offsetLagLow: () => '0',
        },
        resolveOffset: (resolved: string) => {
          this.#next.set(key, Number(resolved) + 1);
        },
        heartbeat: () => this.#heartbeat(),
        pause: () => {
          this.pause([{ topic, partitions: [partition] }]);
          return () => {
            this.resume([{ topic, partitions: [partition] }]);
          };
        },
        commitOffsetsIfNecessary: () => Promise.resolve(),
        uncommittedOffsets: () => ({ topics: [] }),
        isRunning: () => this.#running,
        isStale: () => this.#seeks.has(key),
      };
      await this.#run?.eachBatch?.(payload);
      if (this.#run?.eachBatchAutoResolve !== false) payload.resolveOffset(lastOffset);
    }
    await this.#heartbeat();
  }

  get asConsumer(): Consumer {
    return this as unknown as Consumer;
  }
}
