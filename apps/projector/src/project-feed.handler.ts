import { Controller, Inject } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import type { Clock } from '#libs/domain';
import { FeedProjection, projectedPositions, Store } from '#libs/postgres';
import {
  KafkaBatches,
  parseAnchor,
  PositionSources,
  readLogRecord,
  type BatchContext,
  type Handled,
  type RecordBatch,
} from '#libs/kafka-log';
import { measureSequenceCheck, Metrics } from '#libs/telemetry';
import { CLOCK, LOGGER, ProjectionPlace } from '#libs/platform';
import type { Logger } from '#libs/runtime';
import { TailCheck } from './tail-check.js';

/** Folds the log into the feed. */
@Controller()
export class ProjectFeedHandler {
  readonly #projection: FeedProjection;
  readonly #place: ProjectionPlace;

  constructor(
    store: Store,
    positions: PositionSources,
    tail: TailCheck,
    metrics: Metrics,
    @Inject(CLOCK) clock: Clock,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.#projection = new FeedProjection(
      store,
      ({ orgId, after, found }) => {
        logger.error({ org_id: orgId, after, found }, 'projector.gap');
      },
      (events) => {
        tail.add(events);
      },
    );
    this.#place = new ProjectionPlace('feed', { clock, logger, metrics });
    positions.provide('projector-feed', (topic) => projectedPositions(store, 'feed', topic, parseAnchor));
    measureSequenceCheck(metrics, 'projection', {
      read: () => ({ ...this.#projection.read(), mismatches: tail.mismatches }),
    });
  }

  @KafkaBatches({ group: 'projector-feed', topics: (names) => [names.log] })
  async handle(@Payload() batch: RecordBatch, @Ctx() context: BatchContext): Promise<Handled> {
    const events = batch.records.map((record) => ({ ...readLogRecord(record), offset: record.offset }));
    return this.#place.project(batch, context, (stretch) => this.#projection.apply(stretch, events));
  }
}
