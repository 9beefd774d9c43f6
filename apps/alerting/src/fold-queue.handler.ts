import { Controller, Inject } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import { readConversationEvent, type Clock } from '#libs/domain';
import { begunPositions, CHAT_QUEUE_PROJECTION, ChatQueueProjection, Store } from '#libs/postgres';
import {
  KafkaBatches,
  parseAnchor,
  PositionSources,
  isPutBack,
  readLogRecord,
  type BatchContext,
  type Handled,
  type RecordBatch,
} from '#libs/kafka-log';
import { Metrics } from '#libs/telemetry';
import { CLOCK, LOGGER, ProjectionPlace } from '#libs/platform';
import type { Logger } from '#libs/runtime';
import { FoldedInbox } from './folded-inbox.js';

/** Folds the log into the queues of waiting conversations. */
@Controller()
export class FoldQueueHandler {
  readonly #place: ProjectionPlace;

  constructor(
    store: Store,
    private readonly projection: ChatQueueProjection,
    private readonly folded: FoldedInbox,
    positions: PositionSources,
    metrics: Metrics,
    @Inject(CLOCK) clock: Clock,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.#place = new ProjectionPlace(CHAT_QUEUE_PROJECTION, { clock, logger, metrics });
    positions.provide('alerting', (topic, partitions) =>
      begunPositions(store, CHAT_QUEUE_PROJECTION, topic, partitions, parseAnchor),
    );
  }

  // Alerts may take seconds, and most of the log concerns no queue, so few large batches cost the least.
  @KafkaBatches({ group: 'alerting', topics: (names) => [names.log], gather: { bytes: 256 * 1024, waitMs: 250 } })
  async handle(@Payload() batch: RecordBatch, @Ctx() context: BatchContext): Promise<Handled> {
    let inboxOffset: number | undefined;
    const events = batch.records.flatMap((record) => {
      const logged = readLogRecord(record);
      if (!isPutBack(record)) ({ inboxOffset } = logged);
      const event = readConversationEvent(logged);
      return event === undefined ? [] : [{ ...event, offset: record.offset }];
    });
    return this.#place.project(batch, context, async (stretch) => {
      const { projected, dueAtMs } = await this.projection.apply(stretch, events);
      const { nextOffset } = stretch;
      if (projected.kind === 'applied') this.folded.noted(batch.partition, { nextOffset, inboxOffset, dueAtMs });
      return projected;
    });
  }
}
