import { Controller } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import { begunPositions, FeedProjection, FeedServerAwayError, Store } from '#libs/postgres';
import {
  KafkaBatches,
  parseAnchor,
  PositionSources,
  readLogRecord,
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

  constructor(store: Store, positions: PositionSources, tail: TailCheck, kit: StageKit) {
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
    const events = batch.records.map((record) => ({ ...readLogRecord(record), offset: record.offset }));
    if (this.#unchecked.has(batch.partition)) return this.#later(batch, context);
    try {
      return await this.#place.project(batch, context, (stretch) => this.#projection.apply(stretch, events));
    } catch (error) {
      if (!(error instanceof FeedServerAwayError)) throw error;
      return this.#later(batch, context);
    }
  }

  /** Waits for the database. The partition is compared with its position there before it goes on. */
  #later({ topic, partition, records }: RecordBatch, context: BatchContext): Handled {
    context.doubt(topic, partition);
    return { kind: 'later', nextOffset: records[0]?.offset ?? 0, waitMs: AWAY_WAIT_MS };
  }
}
