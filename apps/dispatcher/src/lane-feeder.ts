import { setTimeout as delay } from 'node:timers/promises';
import type { DueAttempt } from '#libs/domain';
import {
  CompletionTracker,
  deadLetterRecord,
  readAttemptRecord,
  type Appender,
  type BatchContext,
  type ConsumerSessions,
  type Handled,
  type RecordBatch,
  type StoredRecord,
  type TopicNames,
} from '#libs/kafka-log';
import type { Logger } from '#libs/runtime';
import type { Lane } from './lane.js';

const COMMIT_EVERY_MS = 250;
/** How long a partition rests whose next attempt finds no room. */
const REST_MS = 100;
/** How long a full lane may keep a batch waiting before other partitions get their turn. */
const ROOM_WAIT_MS = 1_000;

export interface LaneFeederOptions {
  readonly group: string;
  readonly lane: Lane;
  /** Rejects only when the process ends. */
  readonly make: (due: DueAttempt) => Promise<void>;
  /** What is done with an attempt that its endpoint has no room for; never rejects. Without it, the partition rests. */
  readonly divert?: (record: StoredRecord) => Promise<void>;
}

export interface LaneFeederDependencies {
  readonly appender: Appender;
  readonly sessions: ConsumerSessions;
  readonly topics: TopicNames;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

interface PartitionFlight {
  readonly topic: string;
  readonly partition: number;
  readonly tracker: CompletionTracker;
  committed: number;
  context: BatchContext;
}

/**
 * Feeds a lane from a topic: takes attempts up in order, lets them end in any order, and moves a partition's offset
 * behind those that have ended and have nothing before them that has not.
 */
export class LaneFeeder {
  readonly #flights = new Map<number, PartitionFlight>();
  readonly #timer: NodeJS.Timeout;
  #draining = false;

  constructor(
    private readonly options: LaneFeederOptions,
    private readonly use: LaneFeederDependencies,
  ) {
    this.#timer = setInterval(() => {
      options.lane.relieve();
      void this.#commitAll();
    }, COMMIT_EVERY_MS);
  }

  /** Returns as soon as the attempts are taken up, so that other partitions go on. */
  async feed(batch: RecordBatch, context: BatchContext): Promise<Handled> {
    const flight = this.#flightOf(batch, context);
    for (const record of batch.records) {
      if (context.isStale() || this.#draining) return { kind: 'later', nextOffset: record.offset, waitMs: REST_MS };
      const room = await this.#takeUp(record, flight, context);
      if (!room) return { kind: 'later', nextOffset: record.offset, waitMs: REST_MS };
    }
    return undefined;
  }

  /** Takes up no more, lets what is in flight end, for some time, and commits. */
  async drain(timeoutMs: number): Promise<void> {
    this.#draining = true;
    clearInterval(this.#timer);
    await Promise.race([this.options.lane.idle(), delay(timeoutMs, undefined, { ref: false })]);
    await this.#commitAll();
  }

  #flightOf(batch: RecordBatch, context: BatchContext): PartitionFlight {
    const firstOffset = batch.records[0]?.offset ?? 0;
    const known = this.#flights.get(batch.partition);
    // After a rebalance the partition is fetched from its committed offset: what is in flight here comes again and is
    // not taken up again. A gap tells that another member had the partition meanwhile.
    if (known !== undefined && firstOffset <= known.tracker.next) {
      known.context = context;
      return known;
    }
    const { topic, partition } = batch;
    const flight = { topic, partition, tracker: new CompletionTracker(firstOffset), committed: firstOffset, context };
    this.#flights.set(partition, flight);
    return flight;
  }

  /** @returns whether there was room for the attempt */
  async #takeUp(record: StoredRecord, flight: PartitionFlight, context: BatchContext): Promise<boolean> {
    const { tracker } = flight;
    if (record.offset < tracker.next) return true;
    const due = readAttemptRecord(record);
    const complete = () => {
      tracker.complete(record.offset);
    };
    if (due === undefined) {
      const { deadLetter } = this.use.topics;
      await this.use.appender.append([deadLetterRecord(deadLetter, record, 'malformed_request', 'not an attempt')]);
      tracker.take(record.offset);
      complete();
      return true;
    }
    // What the end of the process interrupts keeps its offset, and is made by whoever goes on with the partition.
    const interrupted = (error: unknown) => {
      if (!this.use.signal.aborted) this.use.logger.error({ err: error }, 'attempt.interrupted');
    };
    const make = () => this.options.make(due).then(complete, interrupted);
    const divert = this.options.divert;
    const giveUp = () => {
      void divert?.(record).then(complete, interrupted);
    };
    const waitUntil = performance.now() + ROOM_WAIT_MS;
    for (;;) {
      const offer = this.options.lane.offer(due.delivery.endpointId, make, giveUp);
      if (offer === 'taken') {
        tracker.take(record.offset);
        return true;
      }
      if (offer === 'endpoint_full') {
        if (divert === undefined) return false;
        tracker.take(record.offset);
        giveUp();
        return true;
      }
      if (context.isStale() || performance.now() > waitUntil) return false;
      await Promise.race([this.options.lane.room(), delay(REST_MS)]);
    }
  }

  async #commitAll(): Promise<void> {
    const assigned = this.use.sessions.of(this.options.group)?.assigned;
    await Promise.all(
      [...this.#flights.values()].map(async (flight) => {
        const { topic, partition, tracker, context } = flight;
        if (tracker.committable === flight.committed) return;
        // What is another member's by now is not moved under it.
        if (assigned?.[topic]?.includes(partition) !== true) return;
        flight.committed = tracker.committable;
        await context.commit(topic, partition, flight.committed);
      }),
    );
  }
}
