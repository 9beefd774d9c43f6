import { performance } from 'node:perf_hooks';
import kafkajs, { type Admin, type Consumer, type EachBatchPayload } from 'kafkajs';
import { systemClock } from '#libs/domain';
import { backOffMs, type HealthBoard, type Logger } from '#libs/runtime';
import { setTimeout as delay } from 'node:timers/promises';
import { ClockWatch } from './clock-watch.js';
import type { ConsumerSession } from './consumer-sessions.js';
import type { KafkaConnection } from './kafka-connection.js';
import { LARGEST_BATCH_BYTES } from './limits.js';
import { PartitionProgress } from './partition-progress.js';
import { toStoredRecord, type RecordBatch } from './record.js';

/** A session this long survives a long pause of garbage collection; after a crash another member takes over behind it. */
const SESSION_TIMEOUT_MS = 10_000;
const HEARTBEAT_MS = 1_000;
/** How long a fetch waits at the broker for records; they are handed over at once when they come. */
const FETCH_WAIT_MS = 200;
/** Offsets move this often at the most: a commit costs as much as a small batch, and a crash repeats no more than this. */
const COMMIT_EVERY_MS = 250;

/** What became of a batch; nothing means: all of it is handled. */
export type Handled =
  | undefined
  /** The records from `nextOffset` on are to be handed over again, not before `notBeforeMs` from now. */
  | { readonly kind: 'later'; readonly nextOffset: number; readonly waitMs: number };

/** What a handler may ask of its consumer while it handles a batch. */
export interface BatchContext {
  /** Whether the partition is certainly still this member's: its session is alive. */
  holdsLease(): boolean;
  /** Whether the batch need not be finished: the consumer stops, or the partition is no longer this member's. */
  isStale(): boolean;
  /** Raised with each assignment of partitions: what was known of a partition before may be outdated. */
  readonly generation: number;
  /** Moves the group's offset; for handlers that finish after they return. */
  commit(topic: string, partition: number, nextOffset: number): Promise<void>;
  /** Ends a rest of the partition early: the one that a `later` asked for. */
  resume(topic: string, partition: number): void;
  /** Lets the handler be called for the partition from this offset on. */
  seek(topic: string, partition: number, offset: number): void;
}

export interface BatchConsumerOptions {
  /** Of the consumer group, and for logs and health. */
  readonly groupId: string;
  /** The group without its prefix, for metrics. */
  readonly group: string;
  readonly topics: readonly string[];
  /** `after`: the offset moves when the handler returns; `handler`: the handler commits by itself. */
  readonly commits: 'after' | 'handler';
  /** Lets the broker hold records back for some time, so that they come in larger batches. */
  readonly gather?: { readonly bytes: number; readonly waitMs: number };
  readonly handle: (batch: RecordBatch, context: BatchContext) => Promise<Handled>;
  readonly onSession: (session: ConsumerSession | null) => void;
}

/**
 * Hands over batches of records, partition by partition, for as long as it runs. A handler that fails is called again
 * with the same batch, with back-off, while heartbeats go on; a consumer that crashes is made anew.
 */
export class BatchConsumer {
  #consumer: Consumer | null = null;
  #restart: NodeJS.Timeout | null = null;
  #stopping = false;
  #crashes = 0;
  #generation = 0;
  /** Monotonic time at which the session was last known to be alive. */
  #aliveAt = -Infinity;
  readonly #paused = new Map<string, NodeJS.Timeout>();
  /** What is handled and not committed yet, by partition. */
  readonly #handled = new Map<
    string,
    { readonly topic: string; readonly partition: number; readonly offset: string }
  >();
  #committing: NodeJS.Timeout | null = null;
  #watching: NodeJS.Timeout | null = null;
  #onJoined: () => void = () => undefined;
  #assigned: Readonly<Record<string, readonly number[]>> = {};
  /** How far this member is, by topic and partition. */
  readonly #progress = new Map<string, PartitionProgress>();

  constructor(
    private readonly connection: KafkaConnection,
    private readonly options: BatchConsumerOptions,
    private readonly logger: Logger,
    private readonly health: HealthBoard,
  ) {}

  get group(): string {
    return this.options.group;
  }

  get topics(): readonly string[] {
    return this.options.topics;
  }

  /** How far this member is in the partitions of the topic that are its own. */
  assignedOf(topic: string): ReadonlyMap<number, PartitionProgress> {
    return new Map(
      (this.#assigned[topic] ?? []).map((partition) => [partition, this.#progressOf(topic, partition)] as const),
    );
  }

  /** Of partitions that nothing has come from yet, the broker knows where this member stands. */
  async learnPlaces(admin: Admin): Promise<void> {
    const topics = this.topics.filter((topic) =>
      [...this.assignedOf(topic).values()].some(({ next }) => next === null),
    );
    if (topics.length === 0) return;
    for (const { topic, partitions } of await admin.fetchOffsets({ groupId: this.options.groupId, topics })) {
      for (const { partition, offset } of partitions) {
        const progress = this.assignedOf(topic).get(partition);
        if (progress?.next === null) progress.reached(Math.max(0, Number(offset)));
      }
    }
  }

  /** Resolves once the group has assigned this member its partitions. */
  async start(): Promise<void> {
    this.connection.metrics.add('gapless_batch_failures_total', { group: this.options.group }, 0);
    this.health.waiting(this.options.groupId, 'joining its consumer group');
    this.#watching = this.#watchClock();
    await new Promise<void>((resolve) => {
      this.#onJoined = resolve;
      void this.#run();
    });
  }

  /** Finishes the batches that are under way and leaves the group. */
  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#restart !== null) clearTimeout(this.#restart);
    if (this.#watching !== null) clearInterval(this.#watching);
    for (const timer of this.#paused.values()) clearTimeout(timer);
    if (this.#consumer !== null) await this.#commitHandled(this.#consumer);
    await this.#consumer?.disconnect();
    this.options.onSession(null);
  }

  async #run(): Promise<void> {
    this.#restart = null;
    const consumer = this.connection.kafka.consumer({
      groupId: this.options.groupId,
      sessionTimeout: SESSION_TIMEOUT_MS,
      rebalanceTimeout: SESSION_TIMEOUT_MS,
      heartbeatInterval: HEARTBEAT_MS,
      maxWaitTimeInMs: this.options.gather?.waitMs ?? FETCH_WAIT_MS,
      minBytes: this.options.gather?.bytes ?? 1,
      maxBytesPerPartition: PARTITION_FETCH_BYTES,
      maxBytes: LARGEST_BATCH_BYTES,
      // Restarting is done here, for every kind of crash.
      retry: { retries: 5, initialRetryTime: 100, maxRetryTime: 2_000, restartOnFailure: () => Promise.resolve(false) },
    });
    this.#consumer = consumer;
    consumer.on(consumer.events.HEARTBEAT, () => {
      this.#aliveAt = performance.now();
    });
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      this.#aliveAt = performance.now();
      this.#generation++;
      this.#handled.clear();
      this.#progress.clear();
      this.#assigned = payload.memberAssignment;
      this.#crashes = 0;
      this.options.onSession({
        generation: this.#generation,
        assigned: payload.memberAssignment,
        holdsLease: () => this.#holdsLease(),
      });
      this.health.ready(this.options.groupId);
      this.logger.info({ group: this.options.groupId, assignment: payload.memberAssignment }, 'consumer.joined');
      this.#onJoined();
    });
    consumer.on(consumer.events.REBALANCING, () => {
      void this.#commitHandled(consumer);
    });
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      if (this.#consumer !== consumer) return;
      this.#endSession();
      this.#restartAfter(payload.error);
    });
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [...this.options.topics], fromBeginning: true });
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        partitionsConsumedConcurrently: 64,
        eachBatch: (payload) => this.#eachBatch(consumer, payload),
      });
    } catch (error) {
      await consumer.disconnect().catch(() => undefined);
      if (this.#consumer === consumer) this.#restartAfter(error);
    }
  }

  /**
   * kafkajs times its heartbeats by the wall clock: once that is set back it sends none until the clock is where it was,
   * and the group gives the member up. Rests of partitions were reckoned by the old time as well. A new consumer knows
   * nothing of it.
   */
  #watchClock(): NodeJS.Timeout {
    const watch = new ClockWatch(systemClock, () => performance.now());
    return setInterval(() => {
      if (watch.wasSet()) void this.#startAnew();
    }, HEARTBEAT_MS);
  }

  async #startAnew(): Promise<void> {
    const consumer = this.#consumer;
    // One that has crashed is made anew anyway.
    if (consumer === null || this.#restart !== null) return;
    this.#consumer = null;
    this.#endSession();
    this.logger.warn({ group: this.options.groupId }, 'consumer.clock_was_set');
    await this.#commitHandled(consumer);
    await consumer.disconnect().catch(() => undefined);
    if (!this.#stopping) await this.#run();
  }

  #endSession(): void {
    this.#aliveAt = -Infinity;
    this.#assigned = {};
    this.options.onSession(null);
  }

  /** Half of the session's time is left for the answer to the heartbeat, and for what is sent on this promise. */
  #holdsLease(): boolean {
    return performance.now() - this.#aliveAt < SESSION_TIMEOUT_MS / 2;
  }

  #restartAfter(error: unknown): void {
    if (this.#stopping) return;
    this.#crashes++;
    const waitMs = backOffMs(this.#crashes);
    const reason = error instanceof Error ? error.message : String(error);
    this.health.waiting(this.options.groupId, 'Kafka cannot be reached');
    this.logger.warn({ group: this.options.groupId, reason, wait_ms: waitMs }, 'consumer.waiting');
    if (this.#restart !== null) clearTimeout(this.#restart);
    this.#restart = setTimeout(() => void this.#run(), waitMs);
  }

  async #eachBatch(consumer: Consumer, payload: EachBatchPayload): Promise<void> {
    const { topic, partition, messages } = payload.batch;
    const last = messages.at(-1);
    if (last === undefined) return;
    const generation = this.#generation;
    let refused = false;
    const isStale = () =>
      refused || this.#stopping || generation !== this.#generation || !payload.isRunning() || payload.isStale();
    const context: BatchContext = {
      generation,
      isStale,
      holdsLease: () => this.#holdsLease(),
      commit: (...offset) => this.#commit(consumer, ...offset),
      resume: (restingTopic, restingPartition) => {
        this.#resume(consumer, restingTopic, restingPartition);
      },
      seek: (seekTopic, seekPartition, offset) => {
        consumer.seek({ topic: seekTopic, partition: seekPartition, offset: String(offset) });
      },
    };
    const batch = {
      topic,
      partition,
      records: messages.map((message) => toStoredRecord(topic, partition, message)),
    };
    const onRefused = () => {
      refused = true;
    };
    const progress = this.#progressOf(topic, partition);
    const firstOffset = Number(messages[0]?.offset ?? 0);
    if (progress.next === null) progress.reached(firstOffset);
    progress.arrived(firstOffset, Number(messages[0]?.timestamp ?? 0));
    const startedAtMs = performance.now();
    const handled = await this.#withHeartbeat(payload, onRefused, () => this.#untilHandled(batch, context));
    if (handled === 'stale') {
      // Met here once more, the refusal reaches kafkajs, which joins the group again.
      await payload.heartbeat();
      return;
    }
    const nextOffset = handled?.nextOffset ?? Number(last.offset) + 1;
    if (nextOffset > firstOffset) {
      this.#measure(Math.min(messages.length, nextOffset - firstOffset), performance.now() - startedAtMs);
      payload.resolveOffset(nextOffset > Number(last.offset) ? last.offset : String(nextOffset - 1));
      if (this.options.commits === 'after') {
        progress.reached(nextOffset);
        this.#commitLater(consumer, topic, partition, nextOffset);
      }
    }
    if (handled !== undefined) this.#pauseFor(consumer, topic, partition, handled.waitMs);
    await payload.heartbeat();
  }

  async #untilHandled(batch: RecordBatch, context: BatchContext): Promise<Handled | 'stale'> {
    const part = `${this.options.groupId} ${batch.topic}/${batch.partition}`;
    for (let failures = 1; ; failures++) {
      if (context.isStale()) {
        this.health.forget(part);
        return 'stale';
      }
      try {
        const handled = await this.options.handle(batch, context);
        if (failures > 1) this.health.forget(part);
        return handled;
      } catch (error) {
        const waitMs = backOffMs(failures);
        this.connection.metrics.add('gapless_batch_failures_total', { group: this.options.group });
        this.health.waiting(part, 'a batch cannot be handled yet');
        this.logger.warn(
          {
            group: this.options.groupId,
            topic: batch.topic,
            partition: batch.partition,
            failures,
            wait_ms: waitMs,
            err: error,
          },
          'batch.waiting',
        );
        await delay(waitMs);
      }
    }
  }

  /** Keeps the session alive however long the handler takes, and tells when the group takes no heartbeat any more. */
  async #withHeartbeat<T>(payload: EachBatchPayload, onRefused: () => void, act: () => Promise<T>): Promise<T> {
    const timer = setInterval(() => void payload.heartbeat().catch(onRefused), HEARTBEAT_MS);
    try {
      return await act();
    } finally {
      clearInterval(timer);
    }
  }

  #commitLater(consumer: Consumer, topic: string, partition: number, nextOffset: number): void {
    this.#handled.set(`${topic}/${partition}`, { topic, partition, offset: String(nextOffset) });
    this.#committing ??= setTimeout(() => void this.#commitHandled(consumer), COMMIT_EVERY_MS);
  }

  async #commitHandled(consumer: Consumer): Promise<void> {
    if (this.#committing !== null) clearTimeout(this.#committing);
    this.#committing = null;
    const handled = [...this.#handled.entries()];
    if (handled.length === 0) return;
    try {
      await consumer.commitOffsets(handled.map(([, place]) => place));
      for (const [key, place] of handled) if (this.#handled.get(key) === place) this.#handled.delete(key);
    } catch (error) {
      // They stay, and are tried again: others tell by them what has been handled. A new assignment begins at what was
      // committed.
      this.logger.debug({ group: this.options.groupId, err: error }, 'commit.failed');
      if (this.#consumer === consumer && !this.#stopping) {
        this.#committing ??= setTimeout(() => void this.#commitHandled(consumer), COMMIT_EVERY_MS);
      }
    }
  }

  /** A commit that fails costs a repetition at most, and the next one covers it. */
  async #commit(consumer: Consumer, topic: string, partition: number, nextOffset: number): Promise<void> {
    this.#progressOf(topic, partition).reached(nextOffset);
    try {
      await consumer.commitOffsets([{ topic, partition, offset: String(nextOffset) }]);
    } catch (error) {
      this.logger.debug({ group: this.options.groupId, topic, partition, err: error }, 'commit.failed');
    }
  }

  #progressOf(topic: string, partition: number): PartitionProgress {
    const key = `${topic}/${partition}`;
    let progress = this.#progress.get(key);
    if (progress === undefined) {
      progress = new PartitionProgress();
      this.#progress.set(key, progress);
    }
    return progress;
  }

  #measure(records: number, durationMs: number): void {
    const { metrics } = this.connection;
    const labels = { group: this.options.group };
    metrics.observe('gapless_batch_records', labels, records);
    metrics.observe('gapless_batch_duration_seconds', labels, durationMs / 1_000);
  }

  #pauseFor(consumer: Consumer, topic: string, partition: number, waitMs: number): void {
    const key = `${topic}/${partition}`;
    consumer.pause([{ topic, partitions: [partition] }]);
    clearTimeout(this.#paused.get(key));
    const resume = () => {
      this.#resume(consumer, topic, partition);
    };
    this.#paused.set(key, setTimeout(resume, Math.min(waitMs, LONGEST_TIMER_MS)));
  }

  #resume(consumer: Consumer, topic: string, partition: number): void {
    const key = `${topic}/${partition}`;
    clearTimeout(this.#paused.get(key));
    this.#paused.delete(key);
    if (this.#consumer !== consumer || this.#stopping) return;
    try {
      consumer.resume([{ topic, partitions: [partition] }]);
    } catch (error) {
      // It has left its group and is about to tell that it crashed: the one that is made anew begins without rests.
      if (!(error instanceof kafkajs.KafkaJSNonRetriableError)) throw error;
    }
  }
}

const PARTITION_FETCH_BYTES = 1024 * 1024;
/** Timers are 31-bit; a partition that is resumed early is paused again. */
const LONGEST_TIMER_MS = 2_147_483_647;
