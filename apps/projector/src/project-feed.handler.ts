import { Controller } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import { FeedProjection, FeedServerAwayError, projectedPositions, Store } from '#libs/postgres';
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
    positions.provide('projector-feed', (topic) => projectedPositions(store, 'feed', topic, parseAnchor));
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
    try {
      return await this.#place.project(batch, context, (stretch) => this.#projection.apply(stretch, events));
    } catch (error) {
      if (!(error instanceof FeedServerAwayError)) throw error;
      // Its position could not be read after the assignment. It is compared before the partition goes on.
      context.doubt(batch.topic, batch.partition);
      return { kind: 'later', nextOffset: batch.records[0]?.offset ?? 0, waitMs: AWAY_WAIT_MS };
    }
  }
}
