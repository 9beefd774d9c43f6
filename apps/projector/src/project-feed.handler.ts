import { Controller, Inject } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import { FeedProjection, Store } from '#libs/feed-store';
import { KafkaBatches, readLogRecord, type BatchContext, type Handled, type RecordBatch } from '#libs/kafka-log';
import { LOGGER, ProjectionPlace } from '#libs/platform';
import type { Logger } from '#libs/runtime';
import { TailCheck } from './tail-check.js';

/** Folds the log into the feed. */
@Controller()
export class ProjectFeedHandler {
  readonly #projection: FeedProjection;
  readonly #place: ProjectionPlace;

  constructor(
    store: Store,
    private readonly tail: TailCheck,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.#projection = new FeedProjection(store);
    this.#place = new ProjectionPlace('feed', logger);
  }

  @KafkaBatches({ group: 'projector-feed', topics: (names) => [names.log] })
  async handle(@Payload() batch: RecordBatch, @Ctx() context: BatchContext): Promise<Handled> {
    const events = batch.records.map((record) => ({
      ...readLogRecord(record),
      offset: record.offset,
      appendedAtMs: record.timestampMs,
    }));
    const handled = await this.#place.project(batch, context, (stretch) => this.#projection.apply(stretch, events));
    if (handled === undefined) this.tail.add(batch.partition, events);
    return handled;
  }
}
