import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import kafkajs, { type Admin, type Consumer, type EachBatchPayload } from 'kafkajs';
import { messageOf, PartitionStoppedError, systemClock } from '#libs/domain';
import { backOffMs, type HealthBoard, type Logger } from '#libs/runtime';
import { ClockWatch } from '../connection/clock-watch.js';
import { committedPositions } from '../positions/committed-positions.js';
import type { ConsumerSession } from './consumer-sessions.js';
import { endsWithin } from '../connection/ends-within.js';
import { FailingPartitions } from './partitions/failing-partitions.js';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import { announcingAssigner, type JoiningMember } from '../kafkajs/before-join.js';
import { watchFetches } from '../kafkajs/partition-errors/failed-fetches.js';
import { onOutOfRange } from '../kafkajs/out-of-range.js';
import { hurryFetches } from '../kafkajs/quiet-fetches.js';
import { LARGEST_BATCH_BYTES } from '../topics/limits.js';
import { OffsetCommits } from '../positions/offset-commits.js';
import { OpenTransactionsWatch } from './open-transactions-watch.js';
import { PartitionPauses } from './partitions/partition-pauses.js';
import { PartitionProgress } from './partitions/partition-progress.js';
import { PartitionQueue } from './partitions/partition-queue.js';
import { PositionGuard } from '../positions/position-guard.js';
import type { PositionSource } from '../positions/position-sources.js';
import { toReadableRecord, toStoredRecord, type RecordBatch } from '../records/record.js';
import type { SessionTimes } from '../connection/session-times.js';
import { StoppedPartitions } from '../positions/stopped-partitions.js';

/** How often to check whether the clock was set, milliseconds. */
const CLOCK_WATCH_MS = 1_000;
/** How long the group waits for live members in a rebalance, milliseconds; longer than they take to release. */
const REBALANCE_TIMEOUT_MS = 10_000;
/** How long a fetch waits at the broker for records, milliseconds; the broker answers as soon as there are any. */
const FETCH_WAIT_MS = 200;
/** The most bytes that a fetch reads of one partition. */
const PARTITION_FETCH_BYTES = 1024 * 1024;
/**
 * kafkajs fetches from a broker again once its earlier records from there are handled. A batch that takes more
 * milliseconds than this continues on its own, so that it does not block the other partitions.
 */
const ATTACHED_MS = 100;
/** The most bytes of unfinished batches of a partition in memory. With more, later batches wait. */
const UNFINISHED_BYTES = 4 * 1024 * 1024;
const NOTHING_LEFT = () => Promise.resolve();
/** How often a waiting retry checks whether it is still needed, milliseconds. */
const BACK_OFF_STEP_MS = 100;
/** How long running work may take before partitions move, milliseconds; longer than any write to Kafka. */
const RELEASE_MS = 4_000;

/** The result of a batch. `undefined` means that the whole batch is handled. */
export type Handled =
  | undefined
  /** Hand over the records from `nextOffset` on again, after at least `waitMs`. */
  | { readonly kind: 'later'; readonly nextOffset: number; readonly waitMs: number }
  /**
   * The batch is handled once `rest` has resolved; after a failure, `rest` is called again. Later batches of the
   * partition do not wait for it. The offset moves in order.
   */
  | { readonly kind: 'unfinished'; readonly rest: () => Promise<void> };

/** The consumer as a handler sees it while it handles a batch. */
export interface BatchContext {
  /** Whether the partition certainly still belongs to this member: its session is alive. */
  holdsLease(): boolean;
  /** Whether the batch need not be finished: the consumer stops, or the partition belongs to another member. */
  isStale(): boolean;
  /** Raised with each assignment of partitions. Facts about a partition from before may be outdated. */
  readonly generation: number;
  /** Moves the group's offset; for handlers that finish after they return. */
  commit(topic: string, partition: number, nextOffset: number): Promise<void>;
  /** Ends a wait of the partition early that a `later` asked for. */
  resume(topic: string, partition: number): void;
  /** Continues the partition at this offset. */
  seek(topic: string, partition: number, offset: number): void;
  /**
   * Compares the partition with its position again before more is handed over. Call it if another process moved the
   * position.
   */
  doubt(topic: string, partition: number): void;
}

export interface BatchConsumerOptions {
  /** The id of the consumer group, also for logs and health. */
  readonly groupId: string;
  /** The group's name without its prefix, for metrics. */
  readonly group: string;
  /** A function is asked each time that the consumer is made: topics may come and go. */
  readonly topics: readonly string[] | (() => Promise<readonly string[]>);
  /** `after`: the offset moves when the handler returns; `handler`: the handler commits itself. */
  readonly commits: 'after' | 'handler';
  /** `given`: unreadable batches are handed over like records; otherwise one stops its partition. */
  readonly unreadable?: 'given';
  /** Lets the broker wait for more records, so that batches are larger. */
  readonly gather?: { readonly bytes: number; readonly waitMs: number };
  readonly handle: (batch: RecordBatch, context: BatchContext) => Promise<Handled>;
  /** Returns where the group continues, if it does not keep its positions in Kafka. */
  readonly positions?: PositionSource | undefined;
  readonly onSession: (session: ConsumerSession | null) => void;
  /** Called before partitions may move to another member, to finish work outside of handlers. Must be fast. */
  readonly onRelease?: () => Promise<void>;
}

/**
 * Hands over batches of records, one at a time for each partition. It calls a failed handler again with the same
 * records, with back-off, and waits for a slow one. Neither blocks other partitions. If its kafkajs consumer crashes,
 * it makes a new one.
 */
export class BatchConsumer {
  #consumer: Consumer | null = null;
  /** What the consumer reads. */
  #topics: readonly string[];
  #restart: NodeJS.Timeout | null = null;
  #stopping = false;
  #crashes = 0;
  #generation = 0;
  #times: SessionTimes;
  /** Monotonic time at which the session was last known to be alive. */
  #aliveAt = -Infinity;
  /** Whether running work is finishing before the consumer joins its group again. */
  #isReleasing = false;
  /** Whether the last assignment is over and the next one has not come. */
  #isReleased = false;
  /** Batches to handle, by topic and partition. */
  readonly #queues = new Map<string, PartitionQueue>();
  /** Batches to finish while later ones are handled. */
  readonly #unfinished = new Map<string, PartitionQueue>();
  readonly #failing: FailingPartitions;
  readonly #stopped: StoppedPartitions;
  readonly #guard: PositionGuard;
  readonly #transactions: OpenTransactionsWatch;
  #endListening: () => void = () => undefined;
  readonly #pauses = new PartitionPauses({
    pause: (topic, partition) => {
      this.#steer((consumer) => {
        consumer.pause([{ topic, partitions: [partition] }]);
      });
    },
    resume: (topic, partition) => {
      this.#steer((consumer) => {
        consumer.resume([{ topic, partitions: [partition] }]);
      });
    },
  });
  readonly #commits: OffsetCommits;
  #watching: NodeJS.Timeout | null = null;
  #onJoined: () => void = () => undefined;
  #assigned: Readonly<Record<string, readonly number[]>> = {};
  /** This member's progress, by topic and partition. */
  readonly #progress = new Map<string, PartitionProgress>();

  constructor(
    private readonly connection: KafkaConnection,
    private readonly options: BatchConsumerOptions,
    private readonly logger: Logger,
    private readonly health: HealthBoard,
  ) {
    this.#times = connection.sessionTimes.current;
    this.#topics = typeof options.topics === 'function' ? [] : options.topics;
    this.#failing = new FailingPartitions(options, connection.metrics, logger, health);
    this.#stopped = new StoppedPartitions(options, connection.metrics, logger, health);
    this.#transactions = new OpenTransactionsWatch(options, connection.metrics, logger, health);
    this.#guard = new PositionGuard({
      connection,
      groupId: options.groupId,
      group: options.group,
      logger,
      health,
      stopped: this.#stopped,
      source: options.positions ?? committedPositions(connection, options.groupId),
      startsAtSource: options.positions !== undefined,
      hold: (...held) => {
        this.#pauses.hold(...held);
      },
      moveTo: (...place) => {
        this.#moveTo(...place);
      },
    });
    this.#commits = new OffsetCommits({
      groupId: options.groupId,
      logger,
      // Do not commit offsets of an earlier assignment in the name of the next.
      consumer: () => (this.#isReleased ? null : this.#consumer),
      isStopping: () => this.#stopping,
      metadataOf: (...place) => this.#guard.metadataOf(...place),
    });
  }

  get group(): string {
    return this.options.group;
  }

  get topics(): readonly string[] {
    return this.#topics;
  }

  /** Returns this member's progress in its partitions of the topic. */
  assignedOf(topic: string): ReadonlyMap<number, PartitionProgress> {
    return new Map(
      (this.#assigned[topic] ?? []).map((partition) => [partition, this.#progressOf(topic, partition)] as const),
    );
  }

  /** Asks the broker for this member's offsets in partitions of these topics that have sent no record yet. */
  async learnPlaces(admin: Admin, topics: readonly string[]): Promise<void> {
    const unknown = topics.filter((topic) => [...this.assignedOf(topic).values()].some(({ next }) => next === null));
    if (unknown.length === 0) return;
    const { groupId } = this.options;
    for (const { topic, partitions } of await admin.fetchOffsets({ groupId, topics: unknown })) {
      for (const { partition, offset } of partitions) {
        const progress = this.assignedOf(topic).get(partition);
        if (progress?.next === null) progress.reached(Math.max(0, Number(offset)));
      }
    }
  }

  /** Resolves once the group has assigned this member its partitions. */
  async start(): Promise<void> {
    this.health.waiting(this.options.groupId, 'joining its consumer group');
    this.#watching = this.#watchClock();
    const endings = [
      onOutOfRange(this.options.groupId, (...place) => {
        this.#guard.outOfRange(...place);
      }),
      watchFetches(this.options.groupId, {
        failed: (topic, partition, offset, error) => {
          const isOwn = this.#assigned[topic]?.includes(partition) === true;
          if (!isOwn || this.#stopping || this.#isReleased) return;
          this.#pauses.rest(topic, partition, this.#failing.failed(topic, partition, offset, error));
        },
        recovered: (topic, partition) => {
          this.#failing.succeeded(topic, partition);
        },
      }),
    ];
    this.#endListening = () => {
      for (const end of endings) end();
    };
    await new Promise<void>((resolve) => {
      this.#onJoined = resolve;
      void this.#run();
    });
  }

  /** Finishes the running batches and leaves the group. */
  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#restart !== null) clearTimeout(this.#restart);
    if (this.#watching !== null) clearInterval(this.#watching);
    this.#guard.giveUp();
    if (this.#consumer !== null) await this.#finish(this.#consumer);
    await this.#consumer?.disconnect();
    // A join that was under way may still end. It is no session of a consumer that has stopped.
    this.#consumer = null;
    this.#failing.clear();
    this.#transactions.look({});
    await endsWithin(this.#guard.stop(), RELEASE_MS);
    this.#endListening();
    this.options.onSession(null);
  }

  async #run(): Promise<void> {
    this.#restart = null;
    const times = this.connection.sessionTimes.current;
    this.#times = times;
    const consumer: Consumer = this.connection.kafka.consumer({
      groupId: this.options.groupId,
      // A topic that was deleted is not made again with the brokers' default settings.
      allowAutoTopicCreation: false,
      partitionAssigners: [
        announcingAssigner({
          release: (member) => this.#release(consumer, member),
          isWanted: () => !this.#stopping && this.#consumer === consumer,
        }),
      ],
      sessionTimeout: times.sessionMs,
      rebalanceTimeout: REBALANCE_TIMEOUT_MS,
      heartbeatInterval: times.heartbeatMs,
      maxWaitTimeInMs: this.options.gather?.waitMs ?? FETCH_WAIT_MS,
      minBytes: this.options.gather?.bytes ?? 1,
      maxBytesPerPartition: PARTITION_FETCH_BYTES,
      maxBytes: LARGEST_BATCH_BYTES,
      // This class restarts the consumer itself, after every kind of crash.
      retry: { retries: 5, initialRetryTime: 100, maxRetryTime: 2_000, restartOnFailure: () => Promise.resolve(false) },
    });
    this.#consumer = consumer;
    // The broker counts the session from when it got the request, which may be long before its answer is read.
    const tookMs = new Map<string, number>();
    consumer.on(consumer.events.REQUEST, ({ payload }) => {
      if (payload.apiName === 'Heartbeat' || payload.apiName === 'SyncGroup') {
        tookMs.set(payload.apiName, payload.duration);
      }
    });
    consumer.on(consumer.events.HEARTBEAT, () => {
      if (this.#consumer !== consumer || this.#isReleased) return;
      this.#aliveAt = performance.now() - (tookMs.get('Heartbeat') ?? 0);
    });
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      if (this.#consumer !== consumer) return;
      if (!this.#isReleased) this.#endAssignment();
      this.#isReleased = false;
      this.#isReleasing = false;
      this.#aliveAt = performance.now() - (tookMs.get('SyncGroup') ?? 0);
      this.#commits.forget();
      this.#progress.clear();
      this.#failing.clear();
      this.#pauses.endAll();
      this.#assigned = payload.memberAssignment;
      this.#guard.assigned(payload.memberAssignment);
      this.#crashes = 0;
      const generation = this.#generation;
      this.options.onSession({
        generation,
        assigned: payload.memberAssignment,
        holdsLease: () => generation === this.#generation && this.#holdsLease(),
        hurry: (forMs) => {
          hurryFetches(this.options.groupId, forMs);
        },
        stopped: (topic, partition, stop) => {
          if (stop === null) this.#stopped.goesOn(topic, partition, 'handler');
          else this.#stopped.stopped(topic, partition, stop, 'handler');
        },
      });
      this.health.ready(this.options.groupId);
      this.logger.info({ group: this.options.groupId, assignment: payload.memberAssignment }, 'consumer.joined');
      this.#onJoined();
    });
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
      const { topic, partition, batchSize, firstOffset, lastOffset } = payload;
      if (this.#consumer !== consumer || this.#isReleased) return;
      if (batchSize === 0) this.#pass(topic, partition, firstOffset, lastOffset);
    });
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      if (this.#consumer !== consumer) return;
      this.#endSession();
      if (isSessionRefused(payload.error) && this.connection.sessionTimes.refuse(times)) this.#runLonger();
      else this.#restartAfter(payload.error);
    });
    try {
      await consumer.connect();
      const { topics } = this.options;
      if (typeof topics === 'function') this.#topics = await topics();
      await consumer.subscribe({ topics: [...this.#topics], fromBeginning: true });
      // It was stopped or replaced while it connected, which kafkajs does not notice.
      if (this.#stopping || this.#consumer !== consumer) {
        await consumer.disconnect();
        return;
      }
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
   * Replaces the consumer when the wall clock is set. kafkajs times its heartbeats by that clock. If it is set back, no
   * heartbeat is sent until it reaches its old time, and the group drops the member. Waits of partitions are wrong,
   * too.
   */
  #watchClock(): NodeJS.Timeout {
    const watch = new ClockWatch(systemClock, () => performance.now());
    return setInterval(() => {
      this.#guard.tick();
      this.#transactions.look(this.#assigned);
      if (watch.wasSet()) void this.#startAgain();
    }, CLOCK_WATCH_MS);
  }

  #isRestartDue(): boolean {
    return this.#restart !== null;
  }

  async #startAgain(): Promise<void> {
    const consumer = this.#consumer;
    // A crashed consumer is replaced anyway.
    if (consumer === null || this.#isRestartDue()) return;
    this.logger.warn({ group: this.options.groupId }, 'consumer.clock_was_set');
    this.#isReleasing = true;
    await endsWithin(this.#finish(consumer), RELEASE_MS);
    if (this.#consumer !== consumer || this.#isRestartDue()) return;
    this.#consumer = null;
    this.#endSession();
    await consumer.disconnect().catch(() => undefined);
    if (!this.#stopping) await this.#run();
  }

  #endAssignment(): void {
    this.#generation++;
    this.#aliveAt = -Infinity;
  }

  #endSession(): void {
    this.#endAssignment();
    this.#assigned = {};
    this.options.onSession(null);
  }

  /** Half of the session remains for the heartbeat's answer, and for writes that rely on this result. */
  #holdsLease(): boolean {
    return performance.now() - this.#aliveAt < this.#times.sessionMs / 2;
  }

  #runLonger(): void {
    const { sessionMs } = this.connection.sessionTimes.current;
    this.logger.warn({ group: this.options.groupId, session_ms: sessionMs }, 'consumer.longer_session');
    if (!this.#stopping) void this.#run();
  }

  #restartAfter(error: unknown): void {
    if (this.#stopping) return;
    this.#crashes++;
    const waitMs = backOffMs(this.#crashes);
    const reason = messageOf(error);
    this.health.waiting(this.options.groupId, `joining its consumer group: ${reason}`);
    this.logger.warn({ group: this.options.groupId, reason, wait_ms: waitMs }, 'consumer.waiting');
    if (this.#restart !== null) clearTimeout(this.#restart);
    this.#restart = setTimeout(() => void this.#run(), waitMs);
  }

  async #eachBatch(consumer: Consumer, payload: EachBatchPayload): Promise<void> {
    const { topic, partition, messages } = payload.batch;
    const last = messages.at(-1);
    if (last === undefined || consumer !== this.#consumer || this.#stopping || payload.isStale()) return;
    // With several brokers, one may answer during the join. The next assignment fetches its records again.
    if (this.#isReleased) {
      await delay(BACK_OFF_STEP_MS);
      return;
    }
    const queue = queueOf(this.#queues, topic, partition);
    const generation = this.#generation;
    const progress = this.#progressOf(topic, partition);
    const firstOffset = Number(messages[0]?.offset ?? 0);
    if (progress.next === null) progress.reached(firstOffset);
    progress.arrived(firstOffset, Number(messages[0]?.timestamp ?? 0));
    // Let the next fetch continue after this batch, even before it is handled.
    payload.resolveOffset(last.offset);
    const handled = queue.add(() => this.#handle(generation, payload.batch));
    if (!(await endsWithin(handled, ATTACHED_MS)) && generation === this.#generation) {
      this.#pauses.setFull(topic, partition, queue.waiting > 0);
    }
    await payload.heartbeat();
  }

  /** Handles a batch. Never rejects: a failed batch is handed over again. */
  async #handle(generation: number, batch: EachBatchPayload['batch']): Promise<void> {
    const { topic, partition, messages } = batch;
    const [first, last] = [messages[0], messages.at(-1)];
    const isOver = () => this.#stopping || generation !== this.#generation;
    if (first === undefined || last === undefined || isOver()) return;
    // This batch has begun, so there is room for another.
    this.#pauses.setFull(topic, partition, false);
    const firstOffset = Number(first.offset);
    // Transaction markers may follow the last record.
    const endOffset = Number(batch.lastOffset()) + 1;
    const sent = { elsewhere: false };
    const context: BatchContext = {
      generation,
      isStale: () => isOver() || this.#isReleasing,
      holdsLease: () => generation === this.#generation && this.#holdsLease(),
      commit: async (...offset) => {
        if (generation === this.#generation) await this.#commit(...offset);
      },
      resume: (restingTopic, restingPartition) => {
        if (generation === this.#generation) this.#pauses.endRest(restingTopic, restingPartition);
      },
      doubt: (...doubted) => {
        if (generation === this.#generation) this.#guard.doubt(...doubted);
      },
      seek: (soughtTopic, soughtPartition, offset) => {
        if (generation !== this.#generation) return;
        sent.elsewhere ||= soughtTopic === topic && soughtPartition === partition;
        this.#moveTo(soughtTopic, soughtPartition, offset);
      },
    };
    const unfinished = queueOf(this.#unfinished, topic, partition);
    await unfinished.room(UNFINISHED_BYTES);
    const admission = await this.#guard.admits(topic, partition);
    if (isOver() || admission === 'moved') return;
    if (admission === 'held') {
      this.#moveTo(topic, partition, firstOffset);
      return;
    }
    const startedAtMs = performance.now();
    let handled: Handled;
    try {
      const read = this.options.unreadable === 'given' ? toStoredRecord : toReadableRecord;
      const records = messages.map((message) => read(topic, partition, message));
      const lastRecord = records.at(-1);
      const partitionEnd = Number(batch.highWatermark);
      if (lastRecord !== undefined) this.#guard.seen(topic, partition, lastRecord);
      handled = await this.options.handle({ topic, partition, records, partitionEnd }, context);
    } catch (error) {
      if (isOver()) return;
      const waitMs = this.#failing.failed(topic, partition, firstOffset, error);
      if (error instanceof PartitionStoppedError) this.#stopped.stopped(topic, partition, error.stop, 'handler');
      this.#moveTo(topic, partition, firstOffset);
      this.#pauses.rest(topic, partition, waitMs);
      return;
    }
    // The assignment is over, so the batch counts as not handled.
    if (generation !== this.#generation) return;
    this.#stopped.goesOn(topic, partition, 'handler');
    const nextOffset = handled?.kind === 'later' ? handled.nextOffset : endOffset;
    if (nextOffset > firstOffset) {
      this.#measure(Math.min(messages.length, nextOffset - firstOffset), performance.now() - startedAtMs);
    }
    if (handled?.kind === 'unfinished' || !unfinished.isIdle) {
      const [rest, bytes] = handled?.kind === 'unfinished' ? [handled.rest, bytesOf(batch)] : [NOTHING_LEFT, 0];
      void unfinished.add(async () => {
        const isFinished = await this.#finishBatch(rest, { topic, partition, firstOffset, context });
        // As above: if the assignment is over, the batch counts as not handled.
        if (isFinished && generation === this.#generation) this.#reached(topic, partition, firstOffset, nextOffset);
      }, bytes);
    } else {
      this.#failing.succeeded(topic, partition);
      this.#reached(topic, partition, firstOffset, nextOffset);
      // What a handler commits by itself comes into the source later.
      if (this.options.commits === 'after' && nextOffset > firstOffset) {
        this.#guard.handled(topic, partition, nextOffset);
      }
    }
    if (handled?.kind !== 'later') return;
    if (!sent.elsewhere) this.#moveTo(topic, partition, nextOffset);
    if (handled.waitMs > 0) this.#pauses.rest(topic, partition, handled.waitMs);
  }

  /**
   * Finishes a batch and retries after failures, unless the partition moved to another member. Never rejects. @returns
   * whether it was finished
   */
  async #finishBatch(
    rest: () => Promise<void>,
    batch: { topic: string; partition: number; firstOffset: number; context: BatchContext },
  ): Promise<boolean> {
    const { topic, partition, firstOffset, context } = batch;
    while (!context.isStale()) {
      try {
        await rest();
        this.#failing.succeeded(topic, partition);
        return true;
      } catch (error) {
        if (context.isStale()) return false;
        let waitMs = this.#failing.failed(topic, partition, firstOffset, error);
        for (; waitMs > 0 && !context.isStale(); waitMs -= BACK_OFF_STEP_MS)
          await delay(Math.min(waitMs, BACK_OFF_STEP_MS));
      }
    }
    return false;
  }

  #reached(topic: string, partition: number, firstOffset: number, nextOffset: number): void {
    if (nextOffset <= firstOffset || this.options.commits !== 'after') return;
    this.#progressOf(topic, partition).reached(nextOffset);
    this.#commits.later(topic, partition, nextOffset);
  }

  /**
   * Counts offsets without records for readers as handled: transaction markers and aborted records. Otherwise the
   * committed offset would never reach the end of the partition.
   * @param first `null` if they come before the requested offset
   */
  #pass(topic: string, partition: number, first: string | null, last: string): void {
    const generation = this.#generation;
    const pass = () => {
      const isOver = this.#stopping || generation !== this.#generation;
      if (isOver || first === null) return Promise.resolve();
      const progress = this.#progressOf(topic, partition);
      // Earlier records are not handled yet. They are fetched again, and so are these offsets.
      if (progress.next !== null && progress.next !== Number(first)) return Promise.resolve();
      this.#reached(topic, partition, Number(first), Number(last) + 1);
      return Promise.resolve();
    };
    void queueOf(this.#queues, topic, partition).add(() => {
      const unfinished = queueOf(this.#unfinished, topic, partition);
      if (unfinished.isIdle) return pass();
      void unfinished.add(pass);
      return Promise.resolve();
    });
  }

  /** Fetches the partition from that offset on, and drops batches that were fetched before. */
  #moveTo(topic: string, partition: number, offset: number): void {
    queueOf(this.#queues, topic, partition).drop();
    this.#pauses.setFull(topic, partition, false);
    this.#steer((consumer) => {
      consumer.seek({ topic, partition, offset: String(offset) });
    });
  }

  /**
   * Runs before the consumer joins its group, which may give its partitions to others. It finishes and commits running
   * work within a time limit. Afterwards, nothing of this assignment begins or is written.
   */
  async #release(consumer: Consumer, member: JoiningMember): Promise<void> {
    // A consumer that was replaced has no assignment to end.
    if (this.#consumer !== consumer) return;
    if (member.isKnown) {
      this.#isReleasing = true;
      const heartbeats = setInterval(() => void member.heartbeat().catch(() => undefined), this.#times.heartbeatMs);
      const finished = Promise.all([this.#idle(), this.options.onRelease?.()]).then(() => this.#commits.flush());
      await endsWithin(finished, RELEASE_MS);
      clearInterval(heartbeats);
    }
    this.#endAssignment();
    this.#isReleased = true;
  }

  /** Begins no more work, finishes the running batches, and commits them. */
  async #finish(consumer: Consumer): Promise<void> {
    for (const [topic, partitions] of Object.entries(this.#assigned)) {
      this.#steer(() => {
        consumer.pause([{ topic, partitions: [...partitions] }]);
      });
    }
    this.#pauses.clear();
    await this.#idle();
    await this.#commits.flush();
  }

  /** Drops waiting batches, and resolves once no work is running. */
  async #idle(): Promise<void> {
    for (const queues of [this.#queues, this.#unfinished]) {
      for (const queue of queues.values()) queue.drop();
      await Promise.all([...queues.values()].map((queue) => queue.idle()));
    }
  }

  /** Changes where kafkajs fetches, if there is a consumer. */
  #steer(act: (consumer: Consumer) => void): void {
    if (this.#consumer === null) return;
    try {
      act(this.#consumer);
    } catch (error) {
      // The consumer has left its group and will report a crash. Its replacement starts without pauses.
      if (!(error instanceof kafkajs.KafkaJSNonRetriableError)) throw error;
    }
  }

  async #commit(topic: string, partition: number, nextOffset: number): Promise<void> {
    this.#progressOf(topic, partition).reached(nextOffset);
    await this.#commits.now(topic, partition, nextOffset);
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
}

function bytesOf({ messages }: EachBatchPayload['batch']): number {
  return messages.reduce((sum, { key, value }) => sum + (key?.length ?? 0) + (value?.length ?? 0), 0);
}

function queueOf(queues: Map<string, PartitionQueue>, topic: string, partition: number): PartitionQueue {
  const key = `${topic}/${partition}`;
  let queue = queues.get(key);
  if (queue === undefined) {
    queue = new PartitionQueue();
    queues.set(key, queue);
  }
  return queue;
}

/** Whether the session is shorter than the broker's `group.min.session.timeout.ms`. */
function isSessionRefused(error: unknown): boolean {
  const { type, cause } = error as { readonly type?: unknown; readonly cause?: unknown };
  return type === 'INVALID_SESSION_TIMEOUT' || (cause instanceof Error && isSessionRefused(cause));
}
