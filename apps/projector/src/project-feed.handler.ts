import { Controller } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
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
  /** The partitions whose position could not be read after the assignment. */
  readonly #unchecked = new Set<number>();

  constructor(
    private readonly store: Store,
    positions: PositionSources,
    tail: TailCheck,
    private readonly appender: Appender,
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
    positions.provide('projector-feed', async (topic, partitions) => {
      await store.feed.settled();
      for (const partition of partitions) {
        if (store.feed.isPartitionAway(partition)) this.#unchecked.add(partition);
        else this.#unchecked.delete(partition);
      }
      return begunPositions(store, 'feed', topic, partitions, parseAnchor);
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
    if (events.length < batch.records.length) await this.#setForeignAside(batch);
    try {
      return await this.#place.project(batch, context, (stretch) => this.#projection.apply(stretch, events));
    } catch (error) {
      if (!(error instanceof FeedServerAwayError) && !this.#takesNoWrites(batch, error)) throw error;
      return this.#later(batch, context);
    }
  }

  /** Makes dead letters of records that are not the sequencer's. The other readers of the log just skip them. */
  async #setForeignAside({ partition, records }: RecordBatch): Promise<void> {
    const { logger, topics } = this.kit;
    const foreign = records.filter(isForeign);
    const detail = 'The sequencer did not write this record. All readers of the log skip it.';
    await this.appender.append(
      foreign.map((record) => deadLetterRecord(topics.deadLetter, record, 'not_a_log_record', detail)),
    );
    logger.warn({ partition, from: foreign[0]?.offset, records: foreign.length }, 'projector.foreign_records');
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
