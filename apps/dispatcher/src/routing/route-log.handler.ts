import { setImmediate } from 'node:timers/promises';
import { Controller, Inject, Optional } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import {
  deliveryIdOf,
  isReceived,
  isUrgent,
  laneOf,
  outOfTime,
  receptionOf,
  SeqGate,
  type DeliveryRef,
  type DueAttempt,
  type EndpointId,
  type EventFilters,
  type LogEvent,
  type LoggedPlace,
  ORG_SHARE,
  type OrgId,
  type OutOfTime,
  type Reception,
  type RoutedPlace,
} from '#libs/domain';
import { EndpointDirectory, PreviousSeqs, type RoutedSubscriber } from '#libs/postgres';
import {
  KafkaBatches,
  LogPositions,
  readLogRecords,
  ROUTER_GROUP,
  type BatchContext,
  type Handled,
  type RecordBatch,
} from '#libs/kafka-log';
import { BatchTrace } from '#libs/telemetry';
import { EVENT_FILTERS, StageKit } from '#libs/platform';
import { Dispatcher, type AsideAttempt } from '../dispatcher.js';
import { LONGEST_REST_MS, type Intake, type OpenRecord } from '../lanes/lane-feeder.js';
import { EndpointChains, type ChainLink } from './endpoint-chains.js';
import { RoutedPlaces } from './routed-places.js';

/** The router skips ahead only over at least this many records. Fewer are read faster than their end is looked up. */
const SKIP_FROM = 1_000;
/** Longer than a dispatcher takes to end. */
const ENDING_WAIT_MS = 60_000;
/** Attempts that are put aside at a time. This bounds the memory, and how long the thread is busy. */
const ASIDE_AT_ONCE = 500;
/** Attempts that are offered to the lane before other work of the thread runs. */
const OFFERED_AT_ONCE = 100;
/** After so many, those that are put aside are written, even if they are few. */
const FLUSHED_EVERY = 10 * OFFERED_AT_ONCE;

/** Filters that are evaluated before other work of the thread runs. */
const FILTERED_AT_ONCE = 100;

/** An organization with at least this many deliveries in a batch is large: others do not wait for it. */
export const LARGE_FROM = ORG_SHARE;

/** Names the records of large organizations to the appender, so that they take turns with the others. */
const BEHIND = 'behind';

/** An event of the log that is to be routed. */
type DueEvent = LogEvent & LoggedPlace & { readonly appendedAtMs: number; readonly record: OpenRecord };

/** Which deliveries of events are routed. Urgent ones of a large organization come first. */
type Routed = 'all' | 'urgent' | 'others';

/** What becomes of an event for an endpoint that would get it by its type and scope. */
interface Decision extends ChainLink {
  readonly reception: Reception;
  /** Why the endpoint does not get it, if it was not there or inactive. */
  readonly reason: OutOfTime | undefined;
}

/** The decisions about endpoints with a chain, for the events of a batch. */
type Chained = ReadonlyMap<DueEvent, ReadonlyMap<EndpointId, Decision>>;

interface Route {
  readonly chained: Chained;
  readonly deliveries: Routed;
  readonly isNew: (event: DueEvent) => boolean;
  readonly goOn?: () => void;
}

interface Subscribers {
  readonly of: ReadonlyMap<OrgId, readonly RoutedSubscriber[]>;
  /** When they were asked for, milliseconds of the monotonic clock. */
  readonly askedAtMs: number;
}

/** What the router remembers of a partition while it has it. */
interface Stay {
  readonly gate: SeqGate;
  /** The assignment of the last batch. */
  generation: number;
  /** The end of the partition when the first batch of the assignment was fetched: nobody routed what comes after it. */
  newFrom: number;
  /** The organizations that each unfinished batch leaves for later. */
  readonly unfinished: ReadonlySet<OrgId>[];
  /** Missing while no endpoint asks for it. */
  chains?: EndpointChains;
}

/** Finds who receives each event of the log, and gives the first attempt of each delivery to the lane of its own. */
@Controller()
export class RouteLogHandler {
  readonly #stays = new WeakMap<object, Stay>();

  constructor(
    private readonly endpoints: EndpointDirectory,
    private readonly dispatcher: Dispatcher,
    private readonly places: RoutedPlaces,
    private readonly positions: LogPositions,
    private readonly previousSeqs: PreviousSeqs,
    private readonly kit: StageKit,
    @Inject(EVENT_FILTERS) private readonly filters: EventFilters,
    // Only tests pass it.
    @Optional() private readonly largeFrom: number = LARGE_FROM,
  ) {
    const { metrics } = kit;
    metrics.add('gapless_deliveries_scheduled_total', {}, 0);
    metrics.add('gapless_router_previous_unknown_total', {}, 0);
    for (const reason of ['routed_before', 'before_endpoint', 'while_inactive'] as const) {
      metrics.add('gapless_router_skipped_total', { reason }, 0);
    }
    for (const result of ['left_out', 'failed'] as const) metrics.add('gapless_filter_results_total', { result }, 0);
  }

  /** Routes a batch. A repeated batch creates the same deliveries, whose attempts are not made again. */
  @KafkaBatches({ group: ROUTER_GROUP, topics: (names) => [names.log], commits: 'handler' })
  async handle(@Payload() batch: RecordBatch, @Ctx() context: BatchContext): Promise<Handled> {
    const { records: unrouted, routedUpTo } = await this.places.unrouted(batch);
    if (unrouted.length < batch.records.length) this.#leaveOutRouted(batch, batch.records.length - unrouted.length);
    if (routedUpTo !== null) return this.#skipRouted(batch, routedUpTo, context);
    const read = readLogRecords(unrouted);
    const subscribers = await this.#subscribersOf(read);
    const again = { kind: 'later', nextOffset: batch.records[0]?.offset ?? 0, waitMs: 0 } as const;
    // Another member may have the partition by now.
    if (context.isStale()) return again;
    const intake = this.#take(batch, context);
    // It ends: what is fetched again finds it ending, too.
    if (intake.isOver) return { ...again, waitMs: ENDING_WAIT_MS };
    // What an unfinished batch has left to be moved counts only here.
    if (intake.isFull) return { ...again, waitMs: LONGEST_REST_MS };
    this.places.begin(batch);
    const stay = this.#stayOf(intake, context.generation, batch);
    const isNew = isAtEnd(batch) ? ({ offset }: DueEvent) => offset >= stay.newFrom : () => false;
    const opened = open(batch, intake);
    const { fresh: events, remember } = stay.gate.sift(
      read.flatMap((event): DueEvent[] => {
        const record = opened.get(event.offset);
        return record === undefined ? [] : [{ ...event, record }];
      }),
    );
    remember();
    for (const { offset } of events) opened.delete(offset);
    // The rest was routed before, or is foreign.
    for (const record of opened.values()) record.close();
    const chained = await this.#chain(events, subscribers, stay, () => context.isStale());
    if (chained.size > 0 && context.isStale()) {
      intake.giveUp();
      return again;
    }
    const large = largeOrgs(events, subscribers, { from: this.largeFrom, unfinished: stay.unfinished });
    const isSmall = ({ orgId }: DueEvent) => !large.has(orgId);
    await this.#route(events.filter(isSmall), subscribers, { deliveries: 'all', isNew, chained });
    const left = events.filter((event) => !isSmall(event));
    if (left.length === 0) return intake.handled();
    await this.#route(left, subscribers, { deliveries: 'urgent', isNew, chained });
    stay.unfinished.push(large);
    const rest = async () => {
      const goOn = () => {
        if (!context.isStale()) return;
        intake.giveUp();
        throw new Error("the partition is no longer this router's");
      };
      await this.#route(left, subscribers, { deliveries: 'others', isNew, chained, goOn });
      stay.unfinished.splice(stay.unfinished.indexOf(large), 1);
    };
    return { kind: 'unfinished', rest };
  }

  /**
   * Takes a batch. What an earlier assignment has left unfinished is dropped by the consumer, and comes again: such a stay
   * ends, because its records would count as routed.
   */
  #take(batch: RecordBatch, context: BatchContext): Intake {
    const intake = this.dispatcher.first.take(batch, context);
    const stay = this.#stays.get(intake.stay);
    if (stay === undefined || stay.generation === context.generation || stay.unfinished.length === 0) return intake;
    intake.giveUp();
    return this.dispatcher.first.take(batch, context);
  }

  #stayOf(intake: Intake, generation: number, { partitionEnd = Infinity }: RecordBatch): Stay {
    let stay = this.#stays.get(intake.stay);
    if (stay === undefined) {
      stay = { gate: new SeqGate(), generation, newFrom: partitionEnd, unfinished: [] };
      this.#stays.set(intake.stay, stay);
    }
    if (stay.generation !== generation) stay.newFrom = partitionEnd;
    stay.generation = generation;
    return stay;
  }

  async #subscribersOf(events: readonly (LogEvent & LoggedPlace)[]): Promise<Subscribers> {
    const first = new Map<OrgId, LoggedPlace>();
    for (const event of events) if (!first.has(event.orgId)) first.set(event.orgId, event);
    const askedAtMs = performance.now();
    return { of: await this.endpoints.subscribersOf(first), askedAtMs };
  }

  /**
   * Decides who of the endpoints with a chain gets each event, and which one each of them got before it. This follows the
   * log, whatever is routed first.
   */
  async #chain(
    events: readonly DueEvent[],
    subscribers: Subscribers,
    stay: Stay,
    isOver: () => boolean,
  ): Promise<Chained> {
    const asking = new Map<OrgId, readonly RoutedSubscriber[]>();
    for (const [orgId, all] of subscribers.of) if (all.some(hasChain)) asking.set(orgId, all.filter(hasChain));
    const chained = new Map<DueEvent, ReadonlyMap<EndpointId, Decision>>();
    if (asking.size === 0 && stay.chains === undefined) return chained;
    stay.chains ??= new EndpointChains({ previousSeqs: this.previousSeqs, positions: this.positions, kit: this.kit });
    for (const [orgId, ofOrg] of asking) stay.chains.forget(orgId, ofOrg);
    let decided = 0;
    for (const event of events) {
      const ofOrg = asking.get(event.orgId);
      stay.chains.meet(event, ofOrg !== undefined);
      if (ofOrg === undefined) continue;
      const decisions = new Map<EndpointId, Decision>();
      for (const subscriber of ofOrg) {
        const decision = this.#decide(subscriber, event);
        if (decision === undefined) continue;
        decisions.set(subscriber.id, decision);
        if (isForEndpoint(decision)) stay.chains.add(subscriber.id, event, decision);
      }
      chained.set(event, decisions);
      decided += ofOrg.length;
      if (decided < FILTERED_AT_ONCE) continue;
      decided = 0;
      await setImmediate();
    }
    await stay.chains.settle(isOver);
    return chained;
  }

  /**
   * Offers the first attempts of deliveries to their lane. Those beyond a share are diverted, and later events do not wait
   * for it. Those of paced endpoints, and of large organizations beyond a share, are put aside.
   * @param deliveries which of the events' deliveries to route. The events are complete with all but the urgent ones.
   * @param isNew whether nobody can have made, ended or replayed a delivery of the event
   * @param goOn given for large organizations, and called in between; throws if this router must not go on
   */
  async #route(
    events: readonly DueEvent[],
    subscribers: Subscribers,
    { deliveries, isNew, chained, goOn }: Route,
  ): Promise<void> {
    if (events.length === 0) return;
    const trace = new BatchTrace(this.kit.tracing, 'route', this.kit.clock.now());
    const leftOut = { before_endpoint: 0, while_inactive: 0 };
    const filtered = new FilterCounts();
    let offered = 0;
    let aside: (AsideAttempt & { readonly record: OpenRecord })[] = [];
    const putAside = async () => {
      await this.dispatcher.putAside(aside, goOn === undefined ? undefined : BEHIND);
      for (const { record } of aside) record.close();
      aside = [];
    };
    for (const event of events) {
      const receivers = this.#receivers(
        event,
        subscribersOf(event, subscribers, deliveries),
        chained.get(event),
        leftOut,
        filtered,
      );
      const isFollowed = deliveries !== 'urgent' || receivers.length > 0;
      const traceparent = isFollowed ? trace.follow(event.traceparent, event) : event.traceparent;
      let lane: number | undefined;
      const canBeFound = isNew(event);
      for (const { id, isPaced, isOrdered, settings, target: read } of receivers) {
        if (isOrdered) lane ??= laneOf(event.event, event.envelope);
        const previousSeq = chained.get(event)?.get(id)?.previousSeq;
        const due = firstAttempt({ ...event, traceparent }, id, {
          ...(isOrdered && lane !== undefined ? { lane } : {}),
          ...(isUrgent(event.event, settings) ? { isUrgent: true } : {}),
          ...(previousSeq === undefined ? {} : { previousSeq }),
        });
        const target = canBeFound && !isPaced ? read() : undefined;
        const found = target && { target, askedAtMs: subscribers.askedAtMs };
        if (isPaced || !this.dispatcher.offerFirst(due, event.record, found)) {
          if (isPaced || goOn !== undefined) {
            event.record.hold();
            aside.push({ due, isPaced, record: event.record });
          } else this.dispatcher.divertFirst(due, event.record);
        }
        offered++;
        if (aside.length < ASIDE_AT_ONCE && offered % OFFERED_AT_ONCE !== 0) continue;
        if (aside.length >= ASIDE_AT_ONCE || offered % FLUSHED_EVERY === 0) await putAside();
        // Lets other work of this thread run, such as requests.
        await setImmediate();
        goOn?.();
      }
      if (deliveries !== 'urgent') event.record.close();
      if (filtered.sinceYield < FILTERED_AT_ONCE) continue;
      filtered.sinceYield = 0;
      await setImmediate();
      goOn?.();
    }
    if (aside.length > 0) await putAside();
    trace.end(this.kit.clock.now());
    this.kit.metrics.add('gapless_deliveries_scheduled_total', {}, offered);
    this.#count(leftOut);
    this.#countFiltered(filtered);
  }

  /** Selects the endpoints that get the event, and counts deliveries that times or filters rule out. */
  #receivers(
    event: DueEvent,
    subscribers: readonly RoutedSubscriber[],
    decided: ReadonlyMap<EndpointId, Decision> | undefined,
    leftOut: Record<OutOfTime, number>,
    filtered: FilterCounts,
  ): readonly RoutedSubscriber[] {
    return subscribers.filter((subscriber) => {
      const decision = hasChain(subscriber) ? decided?.get(subscriber.id) : this.#decide(subscriber, event);
      if (decision === undefined) return false;
      const { reception, reason } = decision;
      if (reason !== undefined) {
        leftOut[reason]++;
        return false;
      }
      filtered.add(reception, subscriber, event);
      return isReceived(reception);
    });
  }

  /** @returns `undefined` if the event is not for the endpoint, by its type or scope */
  #decide(subscriber: RoutedSubscriber, event: DueEvent): Decision | undefined {
    const reception = receptionOf(subscriber, event, this.filters);
    // Only an event that the endpoint would get otherwise is left out by its filter.
    if (!isReceived(reception) && reception.kind !== 'filtered') return undefined;
    return { reception, reason: outOfTime(subscriber, event) };
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
    const handled = () => {
      const intake = this.dispatcher.first.take(batch, context);
      for (const record of open(batch, intake).values()) record.close();
      return intake.handled();
    };
    if (place.nextOffset - nextOffset < SKIP_FROM) return handled();
    // Both by offset and by time, as in `wasRouted`: in a log that went back, new records have old offsets.
    const notRouted = await this.positions.endsBefore(topic, place.appendedUntilMs + 1);
    const target = Math.min(place.nextOffset, notRouted.get(partition) ?? 0);
    if (context.isStale()) return { kind: 'later', nextOffset: records[0]?.offset ?? 0, waitMs: 0 };
    if (target <= nextOffset) return handled();
    this.kit.metrics.add('gapless_router_skipped_total', { reason: 'routed_before' }, target - nextOffset);
    this.kit.logger.warn({ topic, partition, from: nextOffset, to: target }, 'router.routed_before');
    handled();
    context.seek(topic, partition, target);
    return { kind: 'later', nextOffset: records[0]?.offset ?? 0, waitMs: 0 };
  }

  #count(leftOut: Readonly<Record<OutOfTime, number>>): void {
    if (leftOut.before_endpoint + leftOut.while_inactive === 0) return;
    for (const reason of ['before_endpoint', 'while_inactive'] as const) {
      this.kit.metrics.add('gapless_router_skipped_total', { reason }, leftOut[reason]);
    }
    this.kit.logger.info(leftOut, 'router.left_out');
  }

  #countFiltered({ leftOut, failed, lastFailure }: FilterCounts): void {
    if (leftOut > 0) this.kit.metrics.add('gapless_filter_results_total', { result: 'left_out' }, leftOut);
    if (lastFailure === undefined) return;
    this.kit.metrics.add('gapless_filter_results_total', { result: 'failed' }, failed);
    this.kit.logger.info({ failed, ...lastFailure }, 'router.filters_failed');
  }
}

/** Whether the batch reaches the end of the partition, so that its events were appended a moment ago. */
function isAtEnd({ records, partitionEnd }: RecordBatch): boolean {
  return partitionEnd !== undefined && (records.at(-1)?.offset ?? 0) + 1 >= partitionEnd;
}

/** Opens the records of the batch that this member has not opened before, by offset. */
function open({ records }: RecordBatch, intake: Intake): Map<number, OpenRecord> {
  return new Map(
    records.flatMap((record) => (intake.wasOpened(record) ? [] : [[record.offset, intake.open(record)] as const])),
  );
}

/** Selects the organization's endpoints for which the event is of that kind. */
function subscribersOf(
  { orgId, event }: DueEvent,
  subscribers: Subscribers,
  deliveries: Routed,
): readonly RoutedSubscriber[] {
  const all = subscribers.of.get(orgId) ?? [];
  if (deliveries === 'all') return all;
  return all.filter(({ settings }) => isUrgent(event, settings) === (deliveries === 'urgent'));
}

function hasChain({ settings }: RoutedSubscriber): boolean {
  return settings?.previousSequence === true;
}

function isForEndpoint({ reception, reason }: Decision): boolean {
  return reason === undefined && isReceived(reception);
}

function firstAttempt(
  event: Omit<DueEvent, 'record'>,
  endpointId: RoutedSubscriber['id'],
  place: Pick<DeliveryRef, 'lane' | 'isUrgent' | 'previousSeq'>,
): DueAttempt {
  const { id: eventId, orgId, seq, appendedAtMs, traceparent, envelope } = event;
  return {
    delivery: {
      deliveryId: deliveryIdOf(eventId, endpointId),
      endpointId,
      orgId,
      eventId,
      event: event.event,
      seq,
      createdAtMs: appendedAtMs,
      ...place,
    },
    run: 0,
    attempt: 1,
    dueAtMs: appendedAtMs,
    traceparent,
    envelope,
  };
}

/** Selects the organizations that may have many deliveries, and those whose earlier events are still to be routed. */
function largeOrgs(
  events: readonly DueEvent[],
  subscribers: Subscribers,
  { from, unfinished }: { readonly from: number; readonly unfinished: readonly ReadonlySet<OrgId>[] },
): ReadonlySet<OrgId> {
  const most = new Map<OrgId, number>();
  for (const { orgId } of events) {
    most.set(orgId, (most.get(orgId) ?? 0) + (subscribers.of.get(orgId)?.length ?? 0));
  }
  const isLarge = ([orgId, deliveries]: readonly [OrgId, number]) =>
    deliveries >= from || unfinished.some((orgs) => orgs.has(orgId));
  return new Set([...most].filter(isLarge).map(([orgId]) => orgId));
}

/** What the filters of endpoints did with the events of a batch. */
class FilterCounts {
  /** Filters that were evaluated since other work of the thread ran. */
  sinceYield = 0;
  leftOut = 0;
  /** Events that are delivered because the filter had no answer. */
  failed = 0;
  lastFailure: { readonly org_id: OrgId; readonly endpoint_id: string; readonly event_id: string } | undefined;

  add(reception: Reception, { id, filter }: RoutedSubscriber, event: LogEvent): void {
    if (typeof filter === 'string') this.sinceYield++;
    if (reception.kind === 'filtered') this.leftOut++;
    if (reception.kind !== 'received_unfiltered') return;
    this.failed++;
    // The reason may quote the event, which is not logged.
    this.lastFailure = { org_id: event.orgId, endpoint_id: id, event_id: event.id };
  }
}
