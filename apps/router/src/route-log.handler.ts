import { setImmediate } from 'node:timers/promises';
import { Controller, Inject } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import {
  deliveryIdOf,
  EndpointShares,
  outOfTime,
  receives,
  SeqGate,
  type Clock,
  type LogEvent,
  type LoggedPlace,
  type OrgId,
  type OutOfTime,
  type RoutedPlace,
} from '#libs/domain';
import { EndpointDirectory, type RoutedSubscriber } from '#libs/postgres';
import {
  Appender,
  attemptRecord,
  factRecord,
  KafkaBatches,
  LogPositions,
  readLogRecord,
  type BatchContext,
  type Handled,
  type NewRecord,
  type RecordBatch,
  type TopicNames,
} from '#libs/kafka-log';
import { BatchTrace, Metrics, type Tracing } from '#libs/telemetry';
import { CLOCK, LOGGER, TOPICS, TRACING } from '#libs/platform';
import type { Logger } from '#libs/runtime';
import { RoutedPlaces } from './routed-places.js';

/** Fewer records than this are read faster than their end is looked up. */
const SKIP_FROM = 1_000;
/** A batch that has many endpoints is routed in pieces of so many records: its memory, and how long it keeps the thread. */
const RECORDS_AT_ONCE = 2_000;

/** Finds who receives each event of the log, and schedules a delivery and its first attempt for each of them. */
@Controller()
export class RouteLogHandler {
  readonly #gate = new SeqGate();

  constructor(
    private readonly endpoints: EndpointDirectory,
    private readonly appender: Appender,
    private readonly places: RoutedPlaces,
    private readonly positions: LogPositions,
    private readonly metrics: Metrics,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(TRACING) private readonly tracing: Tracing,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    metrics.add('gapless_deliveries_scheduled_total', {}, 0);
    for (const reason of ['routed_before', 'before_endpoint', 'while_inactive'] as const) {
      metrics.add('gapless_router_skipped_total', { reason }, 0);
    }
  }

  /** A batch that comes again names the same deliveries, so that it changes nothing. */
  @KafkaBatches({ group: 'router', topics: (names) => [names.log] })
  async handle(@Payload() batch: RecordBatch, @Ctx() context: BatchContext): Promise<Handled> {
    const { records: unrouted, routedUpTo } = await this.places.unrouted(batch);
    if (unrouted.length < batch.records.length) this.#leaveOutRouted(batch, batch.records.length - unrouted.length);
    if (routedUpTo !== null) return this.#skipRouted(batch, routedUpTo, context);
    const trace = new BatchTrace(this.tracing, 'route', this.clock.now());
    const events = unrouted.map((record) => ({
      ...readLogRecord(record),
      offset: record.offset,
    }));
    const { fresh, remember } = this.#gate.sift(events);
    const first = new Map<OrgId, LoggedPlace>();
    for (const event of fresh) if (!first.has(event.orgId)) first.set(event.orgId, event);
    const subscribers = await this.endpoints.subscribersOf(first);
    const leftOut = { before_endpoint: 0, while_inactive: 0 };
    const shares = new EndpointShares();
    let records: NewRecord[] = [];
    let deliveries = 0;
    for (const event of fresh) {
      const routed = this.#route(
        { ...event, traceparent: trace.follow(event.traceparent, event) },
        event.appendedAtMs,
        receivers(event, subscribers.get(event.orgId) ?? [], leftOut),
        shares,
      );
      records.push(...routed.flat());
      deliveries += routed.length;
      if (records.length < RECORDS_AT_ONCE) continue;
      await this.appender.append(records);
      // Other work of this thread comes in between, such as requests.
      await setImmediate();
      records = [];
    }
    await this.appender.append(records);
    trace.end(this.clock.now());
    this.metrics.add('gapless_deliveries_scheduled_total', {}, deliveries);
    this.#count(batch, leftOut);
    remember();
    this.places.handled(batch);
    return undefined;
  }

  /** The group has lost its offsets, and begins where the log begins. */
  #leaveOutRouted({ topic, partition, records }: RecordBatch, events: number): void {
    this.metrics.add('gapless_router_skipped_total', { reason: 'routed_before' }, events);
    this.logger.warn({ topic, partition, from: records[0]?.offset, events }, 'router.routed_before');
  }

  /** Reading the rest of what was routed may take hours, in which nothing is pushed. */
  async #skipRouted(batch: RecordBatch, place: RoutedPlace, context: BatchContext): Promise<Handled> {
    const { topic, partition, records } = batch;
    const nextOffset = (records.at(-1)?.offset ?? 0) + 1;
    if (place.nextOffset - nextOffset >= SKIP_FROM) {
      // Both by offset and by time, as `wasRouted` says: in a log that went back, new records come before the offset.
      const notRouted = await this.positions.endsBefore(topic, place.appendedUntilMs + 1);
      const target = Math.min(place.nextOffset, notRouted.get(partition) ?? 0);
      if (target > nextOffset) {
        this.metrics.add('gapless_router_skipped_total', { reason: 'routed_before' }, target - nextOffset);
        this.logger.warn({ topic, partition, from: nextOffset, to: target }, 'router.routed_before');
        context.seek(topic, partition, target);
        return { kind: 'later', nextOffset: records[0]?.offset ?? 0, waitMs: 0 };
      }
    }
    this.places.handled(batch);
    return undefined;
  }

  #count({ partition }: RecordBatch, leftOut: Readonly<Record<OutOfTime, number>>): void {
    if (leftOut.before_endpoint + leftOut.while_inactive === 0) return;
    for (const reason of ['before_endpoint', 'while_inactive'] as const) {
      this.metrics.add('gapless_router_skipped_total', { reason }, leftOut[reason]);
    }
    this.logger.info({ partition, ...leftOut }, 'router.left_out');
  }

  /**
   * Makes the records of each delivery of the event. Attempts beyond an endpoint's share go to the slow lane at once.
   */
  #route(
    event: LogEvent,
    appendedAtMs: number,
    subscribers: readonly RoutedSubscriber[],
    shares: EndpointShares,
  ): readonly (readonly NewRecord[])[] {
    return subscribers.map(({ id: endpointId }) => {
      const delivery = {
        deliveryId: deliveryIdOf(event.id, endpointId),
        endpointId,
        orgId: event.orgId,
        eventId: event.id,
        event: event.event,
        seq: event.seq,
        createdAtMs: appendedAtMs,
      };
      return [
        factRecord(this.topics.deliveries, { type: 'scheduled', delivery }),
        attemptRecord(shares.take(endpointId) ? this.topics.attempts : this.topics.attemptsSlow, {
          delivery,
          run: 0,
          attempt: 1,
          dueAtMs: appendedAtMs,
          traceparent: event.traceparent,
          envelope: event.envelope,
        }),
      ];
    });
  }
}

/** Selects the endpoints that get the event. @param leftOut counts deliveries that the endpoint's times rule out */
function receivers(
  event: LogEvent & LoggedPlace,
  subscribers: readonly RoutedSubscriber[],
  leftOut: Record<OutOfTime, number>,
): readonly RoutedSubscriber[] {
  return subscribers.filter((subscriber) => {
    if (!receives(subscriber, event)) return false;
    const reason = outOfTime(subscriber, event);
    if (reason !== undefined) leftOut[reason]++;
    return reason === undefined;
  });
}
