import { Controller, Inject } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import { isForQueue, readConversationEvent, type Clock, type LogEvent } from '#libs/domain';
import { begunPositions, CHAT_QUEUE_PROJECTION, ChatQueueProjection, Store } from '#libs/postgres';
import {
  KafkaBatches,
  parseAnchor,
  PositionSources,
  isForeign,
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
    private readonly metrics: Metrics,
    @Inject(CLOCK) clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#place = new ProjectionPlace(CHAT_QUEUE_PROJECTION, { clock, logger, metrics });
    metrics.add('gapless_alerting_events_skipped_total', {}, 0);
    positions.provide('alerting', (topic, partitions) =>
      begunPositions(store, CHAT_QUEUE_PROJECTION, topic, partitions, parseAnchor),
    );
  }

  // Alerts may take seconds, and most of the log concerns no queue, so few large batches cost the least.
  @KafkaBatches({ group: 'alerting', topics: (names) => [names.log], gather: { bytes: 256 * 1024, waitMs: 250 } })
  async handle(@Payload() batch: RecordBatch, @Ctx() context: BatchContext): Promise<Handled> {
    let inboxOffset: number | undefined;
    const unnamed: LogEvent[] = [];
    const events = batch.records.flatMap((record) => {
      if (isForeign(record)) return [];
      const logged = readLogRecord(record);
      if (!isPutBack(record)) ({ inboxOffset } = logged);
      const event = readConversationEvent(logged);
      if (event === undefined && isForQueue(logged)) unnamed.push(logged);
      return event === undefined ? [] : [{ ...event, offset: record.offset }];
    });
    this.#skip(unnamed);
    return this.#place.project(batch, context, async (stretch) => {
      const { projected, dueAtMs } = await this.projection.apply(stretch, events);
      const { nextOffset } = stretch;
      if (projected.kind === 'applied') this.folded.noted(batch.partition, { nextOffset, inboxOffset, dueAtMs });
      return projected;
    });
  }

  /** Nobody can say which chat they are about. */
  #skip(events: readonly LogEvent[]): void {
    const [first] = events;
    if (first === undefined) return;
    this.metrics.add('gapless_alerting_events_skipped_total', {}, events.length);
    const { orgId, id, event } = first;
    this.logger.warn({ events: events.length, org_id: orgId, first_event_id: id, event }, 'alerting.no_conversation');
  }
}
