import { setImmediate } from 'node:timers/promises';
import { Controller, Inject } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import {
  deliveryIdOf,
  LaneShares,
  outOfTime,
  receives,
  SeqGate,
  type LogEvent,
  type LoggedPlace,
  ORG_SHARE,
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
} from '#libs/kafka-log';
import { BatchTrace } from '#libs/telemetry';
import { StageKit } from '#libs/platform';
import { RoutedPlaces } from './routed-places.js';

/** The router skips ahead only over at least this many records. Fewer are read faster than their end is looked up. */
const SKIP_FROM = 1_000;
/** Records that are made and appended at a time. This bounds the memory, and how long the thread is busy. */
const RECORDS_AT_ONCE = 1_000;

/** An organization with at least this many deliveries in a batch is large: others do not wait for it. */
export const LARGE_FROM = ORG_SHARE;
/** The injection token of `LARGE_FROM`. */
export const ROUTER_LARGE_FROM = Symbol('ROUTER_LARGE_FROM');

/** Names the records of large organizations to the appender, so that they take turns with the others. */
const BEHIND = 'behind';

/** An event of the log that is to be routed. */
type DueEvent = LogEvent & LoggedPlace & { readonly appendedAtMs: number };

/** Finds who receives each event of the log, and schedules a delivery and its first attempt for each of them. */
@Controller()
export class RouteLogHandler {
  readonly #gate = new SeqGate();
  /** For each partition, the organizations that each unfinished batch leaves for later. */
  #unfinished = new Map<number, ReadonlySet<OrgId>[]>();
  #generation: number | null = null;

  constructor(
    private readonly endpoints: EndpointDirectory,
    private readonly appender: Appender,
    private readonly places: RoutedPlaces,
    private readonly positions: LogPositions,
    private readonly kit: StageKit,
    @Inject(ROUTER_LARGE_FROM) private readonly largeFrom: number,
  ) {
    const { metrics } = kit;
    metrics.add('gapless_deliveries_scheduled_total', {}, 0);
    for (const reason of ['routed_before', 'before_endpoint', 'while_inactive'] as const) {
      metrics.add('gapless_router_skipped_total', { reason }, 0);
    }
  }

  /** Routes a batch. A repeated batch creates the same deliveries, which changes nothing. */
  @KafkaBatches({ group: 'router', topics: (names) => [names.log] })
  async handle(@Payload() batch: RecordBatch, @Ctx() context: BatchContext): Promise<Handled> {
    const { records: unrouted, routedUpTo } = await this.places.unrouted(batch);
    if (unrouted.length < batch.records.length) this.#leaveOutRouted(batch, batch.records.length - unrouted.length);
    if (routedUpTo !== null) return this.#skipRouted(batch, routedUpTo, context);
    const events = unrouted.map((record): DueEvent => ({ ...readLogRecord(record), offset: record.offset }));
    const subscribers = await this.#subscribersOf(events);
    const unfinished = this.#unfinishedOf(batch.partition, context.generation);
    const large = largeOrgs(events, subscribers, { from: this.largeFrom, unfinished });
    await this.#routeAll(
      events.filter(({ orgId }) => !large.has(orgId)),
      subscribers,
    );
    if (large.size === 0 && unfinished.length === 0) {
      this.places.handled(batch);
      return undefined;
    }
    unfinished.push(large);
    const rest = async () => {
      const left = events.filter(({ orgId }) => large.has(orgId));
      if (left.length > 0) await this.#routeAll(left, await this.#subscribersOf(left), context);
      unfinished.splice(unfinished.indexOf(large), 1);
      this.places.handled(batch);
    };
    return { kind: 'unfinished', rest };
  }

  /** Returns the unfinished batches of a partition. They come again after a new assignment, so none is left then. */
  #unfinishedOf(partition: number, generation: number): ReadonlySet<OrgId>[] {
    if (generation !== this.#generation) this.#unfinished = new Map();
    this.#generation = generation;
    let batches = this.#unfinished.get(partition);
    if (batches === undefined) {
      batches = [];
      this.#unfinished.set(partition, batches);
    }
    return batches;
  }

  #subscribersOf(events: readonly DueEvent[]): Promise<ReadonlyMap<OrgId, readonly RoutedSubscriber[]>> {
    const first = new Map<OrgId, LoggedPlace>();
    for (const event of this.#gate.sift(events).fresh) if (!first.has(event.orgId)) first.set(event.orgId, event);
    return this.endpoints.subscribersOf(first);
  }

  /**
   * @param context given if other batches do not wait for this one; it rejects once the partition is no longer this
   *   router's
   */
  async #routeAll(
    events: readonly DueEvent[],
    subscribers: ReadonlyMap<OrgId, readonly RoutedSubscriber[]>,
    context?: BatchContext,
  ): Promise<void> {
    const { fresh } = this.#gate.sift(events);
    if (fresh.length === 0) return;
    const trace = new BatchTrace(this.kit.tracing, 'route', this.kit.clock.now());
    const leftOut = { before_endpoint: 0, while_inactive: 0 };
    const shares = new LaneShares();
    let records: NewRecord[] = [];
    let routed: DueEvent[] = [];
    let deliveries = 0;
    const append = async () => {
      await this.appender.append(records, context === undefined ? undefined : BEHIND);
      this.kit.metrics.add('gapless_deliveries_scheduled_total', {}, deliveries);
      this.#gate.sift(routed).remember();
      [records, routed, deliveries] = [[], [], 0];
    };
    for (const event of fresh) {
      const made = this.#route(
        { ...event, traceparent: trace.follow(event.traceparent, event) },
        event.appendedAtMs,
        receivers(event, subscribers.get(event.orgId) ?? [], leftOut),
        shares,
      );
      records.push(...made.flat());
      routed.push(event);
      deliveries += made.length;
      if (records.length < RECORDS_AT_ONCE) continue;
      await append();
      // Lets other work of this thread run, such as requests.
      await setImmediate();
      if (context?.isStale() === true) throw new Error("the partition is no longer this router's");
    }
    await append();
    trace.end(this.kit.clock.now());
    this.#count(leftOut);
  }

  /** Reports events that were routed before: the group lost its offsets, and begins at the start of the log. */
  #leaveOutRouted({ topic, partition, records }: RecordBatch, events: number): void {
    this.kit.metrics.add('gapless_router_skipped_total', { reason: 'routed_before' }, events);
    this.kit.logger.warn({ topic, partition, from: records[0]?.offset, events }, 'router.routed_before');
  }

  /** Skips the rest of the routed records. Reading them may take hours, in which nothing is pushed. */
  async #skipRouted(batch: RecordBatch, place: RoutedPlace, context: BatchContext): Promise<Handled> {
    const { topic, partition, records } = batch;
    const nextOffset = (records.at(-1)?.offset ?? 0) + 1;
    if (place.nextOffset - nextOffset >= SKIP_FROM) {
      // Both by offset and by time, as in `wasRouted`: in a log that went back, new records have old offsets.
      const notRouted = await this.positions.endsBefore(topic, place.appendedUntilMs + 1);
      const target = Math.min(place.nextOffset, notRouted.get(partition) ?? 0);
      if (target > nextOffset) {
        this.kit.metrics.add('gapless_router_skipped_total', { reason: 'routed_before' }, target - nextOffset);
        this.kit.logger.warn({ topic, partition, from: nextOffset, to: target }, 'router.routed_before');
        context.seek(topic, partition, target);
        return { kind: 'later', nextOffset: records[0]?.offset ?? 0, waitMs: 0 };
      }
    }
    this.places.handled(batch);
    return undefined;
  }

  #count(leftOut: Readonly<Record<OutOfTime, number>>): void {
    if (leftOut.before_endpoint + leftOut.while_inactive === 0) return;
    for (const reason of ['before_endpoint', 'while_inactive'] as const) {
      this.kit.metrics.add('gapless_router_skipped_total', { reason }, leftOut[reason]);
    }
    this.kit.logger.info(leftOut, 'router.left_out');
  }

  /**
   * Makes the records of each delivery of the event. Attempts beyond a share go to the slow lane at once.
   */
  #route(
    event: LogEvent,
    appendedAtMs: number,
    subscribers: readonly RoutedSubscriber[],
    shares: LaneShares,
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
        factRecord(this.kit.topics.deliveries, { type: 'scheduled', delivery }),
        attemptRecord(shares.take(delivery) ? this.kit.topics.attempts : this.kit.topics.attemptsSlow, {
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

/** Selects the organizations that may have many deliveries, and those whose earlier events are still to be routed. */
function largeOrgs(
  events: readonly DueEvent[],
  subscribers: ReadonlyMap<OrgId, readonly RoutedSubscriber[]>,
  { from, unfinished }: { readonly from: number; readonly unfinished: readonly ReadonlySet<OrgId>[] },
): ReadonlySet<OrgId> {
  const most = new Map<OrgId, number>();
  for (const { orgId } of events) {
    most.set(orgId, (most.get(orgId) ?? 0) + (subscribers.get(orgId)?.length ?? 0));
  }
  const isLarge = ([orgId, deliveries]: readonly [OrgId, number]) =>
    deliveries >= from || unfinished.some((orgs) => orgs.has(orgId));
  return new Set([...most].filter(isLarge).map(([orgId]) => orgId));
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
