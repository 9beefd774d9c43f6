import { Controller } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import type { Position } from '#libs/domain';
import { begunPositions, FeedProjection, FeedServerAwayError, isReadOnly, Store } from '#libs/postgres';
import {
  Appender,
  deadLetterRecord,
  isForeign,
  KafkaBatches,
  parseAnchor,
  PositionSources,
  readLogRecords,
  type BatchContext,
  type Handled,
  type RecordBatch,
} from '#libs/kafka-log';
import { measureSequenceCheck } from '#libs/telemetry';
import { ProjectionPlace, StageKit } from '#libs/platform';
import { DeadLetters } from './dead-letters.js';
import { TailCheck } from './tail-check.js';

/** How long the broker waits for more events, milliseconds. Readers of the feed wait as long for a lone event. */
const FEED_GATHER_MS = 15;

/** How long a partition waits for its database, which another part of the process looks for. */
const AWAY_WAIT_MS = 1_000;

/** Folds the log into the feed. */
@Controller()
export class ProjectFeedHandler {
  readonly #projection: FeedProjection;
  readonly #place: ProjectionPlace;
  readonly #deadLetters: DeadLetters;
  /** The partitions whose position could not be read when it was asked for last. */
  readonly #unchecked = new Set<number>();

  constructor(
    private readonly store: Store,
    positions: PositionSources,
    tail: TailCheck,
    appender: Appender,
    private readonly kit: StageKit,
  ) {
    this.#projection = new FeedProjection(
      store,
      ({ orgId, after, found }) => {
        kit.logger.error({ org_id: orgId, after, found }, 'projector.gap');
      },
      (events) => {
        tail.add(events);
      },
    );
    this.#place = new ProjectionPlace('feed', kit);
    this.#deadLetters = new DeadLetters(appender);
    positions.provide('projector-feed', async (topic, partitions) => {
      await store.feed.settled();
      const found = await Promise.all(
        store.feed.groupPartitions(partitions).map((some) => this.#positionsOf(topic, some)),
      );
      return new Map(found.flatMap((some) => [...some]));
    });
    measureSequenceCheck(kit.metrics, 'projection', {
      read: () => ({ ...this.#projection.read(), mismatches: tail.mismatches }),
    });
  }

  @KafkaBatches({
    group: 'projector-feed',
    topics: (names) => [names.log],
    gather: { bytes: 64 * 1024, waitMs: FEED_GATHER_MS },
  })
  async handle(@Payload() batch: RecordBatch, @Ctx() context: BatchContext): Promise<Handled> {
    const events = readLogRecords(batch.records);
    if (this.#unchecked.has(batch.partition)) return this.#later(batch, context);
    if (events.length < batch.records.length) await this.#setForeignAside(batch, context);
    try {
      return await this.#place.project(batch, context, (stretch) => this.#projection.apply(stretch, events));
    } catch (error) {
      if (!(error instanceof FeedServerAwayError) && !this.#takesNoWrites(batch, error)) throw error;
      return this.#later(batch, context);
    }
  }

  /** Returns the positions of partitions in one database. If it is away or fails, only they wait. */
  async #positionsOf(topic: string, partitions: readonly number[]): Promise<ReadonlyMap<number, Position>> {
    const { feed } = this.store;
    let found: ReadonlyMap<number, Position> = new Map();
    try {
      found = await begunPositions(this.store, 'feed', topic, partitions, parseAnchor);
    } catch (error) {
      // Without the main database, nothing works: the consumer says that it waits.
      if (partitions.some((partition) => feed.isAt(this.store, partition))) throw error;
      if (!partitions.every((partition) => this.#unchecked.has(partition))) {
        this.kit.logger.warn({ err: error, partitions }, 'projector.waiting');
      }
    }
    for (const partition of partitions) {
      if (found.has(partition)) this.#unchecked.delete(partition);
      else this.#unchecked.add(partition);
    }
    return found;
  }

  /** Makes dead letters of records that are not the sequencer's. The other readers of the log just skip them. */
  async #setForeignAside({ partition, records }: RecordBatch, { generation }: BatchContext): Promise<void> {
    const { logger, topics } = this.kit;
    const detail = 'The sequencer did not write this record. All readers of the log skip it.';
    const [first, ...more] = await this.#deadLetters.write(
      { partition, generation },
      records.filter(isForeign),
      (record) => deadLetterRecord(topics.deadLetter, record, 'not_a_log_record', detail),
    );
    if (first === undefined) return;
    logger.warn({ partition, from: first.offset, records: 1 + more.length }, 'projector.foreign_records');
  }

  /** Whether another database than the main one takes no writes. Its feed is still read, so this process is ready. */
  #takesNoWrites({ partition }: RecordBatch, error: unknown): boolean {
    return isReadOnly(error) && !this.store.feed.isAt(this.store, partition);
  }

  /** Waits for the database. The partition is compared with its position there before it goes on. */
  #later({ topic, partition, records }: RecordBatch, context: BatchContext): Handled {
    context.doubt(topic, partition);
    return { kind: 'later', nextOffset: records[0]?.offset ?? 0, waitMs: AWAY_WAIT_MS };
  }
}
