import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import {
  ENDPOINT_SHARE,
  ORG_SHARE,
  type DeliveryRef,
  type Destination,
  type DueAttempt,
  type EndpointId,
} from '#libs/domain';
import { EndpointDirectory, OrderedDeliveries, OverdueDeliveries, PacedEndpoints, PacedOwners } from '#libs/postgres';
import {
  Appender,
  Appenders,
  attemptRecord,
  ConsumerSessions,
  factRecord,
  LogPositions,
  partitionOf,
  ROUTER_GROUP,
  topicRole,
  type NewRecord,
} from '#libs/kafka-log';
import { StageKit } from '#libs/platform';
import { untilItWorks } from '#libs/runtime';
import { AttemptMaker, type AttemptMakerDependencies, type FoundTarget } from './attempts/attempt-maker.js';
import { DispatchLookup } from './attempts/dispatch-lookup.js';
import { LaneFeeder, type OpenRecord } from './lanes/lane-feeder.js';
import { DESTINATION } from './destination.provider.js';
import { AttentiveClock } from './attempts/attentive-clock.js';
import { Lane, type LaneLimits } from './lanes/lane.js';
import { measureLane, measurePump } from './lanes/measure-lane.js';
import { OrderStarts } from './pacing/ordered/order-start.js';
import { PacedPartitions, type PacedSession } from './pacing/paced-partitions.js';
import { PacedPump } from './pacing/paced-pump.js';
import { RecentAttempts } from './attempts/recent-attempts.js';
import { PendingFacts } from './routing/pending-facts.js';
import { RoutedPlaces } from './routing/routed-places.js';
import { YieldingPace } from './yielding-pace.js';

export const MAIN_GROUP = 'dispatcher';
export const SLOW_GROUP = 'dispatcher-slow';

/**
 * The places for urgent attempts in each lane. They share the 64 at a time with the others of their endpoint, which therefore get
 * at least 48 while they wait.
 */
const URGENT_PLACES = { urgentPerEndpoint: 16, urgentPerSluggishEndpoint: 1, urgentPerOrg: 64 };

/**
 * The limits of the lane of first attempts, and of the one of retries and replays. With 64 attempts at a time, an endpoint that answers in 10 ms gets 6,400 a second. Eight such bursts fit in the lane;
 * an endpoint that hangs holds four of its 2,000 places.
 */
const MAIN_LANE: LaneLimits = {
  held: 2_000,
  keptForModest: 200,
  inFlightPerEndpoint: 64,
  heldPerOrg: ORG_SHARE,
  heldPerEndpoint: ENDPOINT_SHARE,
  heldPerSluggishEndpoint: 4,
  ...URGENT_PLACES,
};

/** Nothing is diverted from the slow lane: attempts without room stay in their partition. */
const SLOW_LANE: LaneLimits = {
  held: 1_000,
  keptForModest: 200,
  inFlightPerEndpoint: 64,
  heldPerOrg: 800,
  heldPerEndpoint: ENDPOINT_SHARE,
  heldPerSluggishEndpoint: ENDPOINT_SHARE,
  ...URGENT_PLACES,
  // Slow endpoints have as many places here as others.
  urgentPerSluggishEndpoint: URGENT_PLACES.urgentPerEndpoint,
};

/** How long outcomes of first attempts are gathered: nothing waits for them, and larger batches cost less per outcome. */
const FIRST_GATHER_MS = 20;
/** The same for the slow lane, where the next attempts of an endpoint wait for them. */
const SLOW_GATHER_MS = 10;

/**
 * How long attempts are gathered that move to the slow lane. They wait there anyway, and each request wakes the readers of
 * two topics.
 */
const DIVERT_GATHER_MS = 100;

/** How far the projection may lag, in addition to the time that an attempt takes. */
const PROJECTION_LAG_MS = 5_000;

/** Attempts in flight get this long when the process stops. The rest is repeated after the restart. */
const DRAIN_MS = 4_000;

/** A first attempt that is not made from the log. */
export interface AsideAttempt {
  readonly due: DueAttempt;
  readonly isPaced: boolean;
}

/**
 * The three lanes that attempts are made in: first attempts come from the log, retries and replays from the attempts
 * topic, and what has no room there from the slow topic.
 */
@Injectable()
export class Dispatcher implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly first: LaneFeeder;
  readonly main: LaneFeeder;
  readonly slow: LaneFeeder;
  readonly #ending = new AbortController();
  readonly #clock = new AttentiveClock();
  readonly #diverted: Appender;
  readonly #pending: PendingFacts;
  readonly #paced: PacedPump;

  constructor(
    directory: EndpointDirectory,
    appenders: Appenders,
    /** Appends what the router puts aside, and facts of deliveries that take long. */
    private readonly appender: Appender,
    private readonly places: RoutedPlaces,
    private readonly sessions: ConsumerSessions,
    pacedEndpoints: PacedEndpoints,
    pacedOwners: PacedOwners,
    overdue: OverdueDeliveries,
    orderedDeliveries: OrderedDeliveries,
    positions: LogPositions,
    private readonly kit: StageKit,
    @Inject(DESTINATION) private readonly destination: Destination,
  ) {
    const { config, topics, logger, clock, metrics } = kit;
    const { signal } = this.#ending;
    // Every held attempt listens to this signal.
    setMaxListeners(0, signal);
    const recent = new RecentAttempts(config.deliveryTimeoutMs + PROJECTION_LAG_MS, () => performance.now());
    // Each lane has its own look-ups and appends, and does not wait for those of the other.
    const aMaker = (outcomes: Appender, waitsFor?: AttemptMakerDependencies['waitsFor']) =>
      new AttemptMaker({
        kit,
        lookup: new DispatchLookup(directory, logger, signal),
        destination,
        appender: outcomes,
        recent,
        ...(waitsFor === undefined ? {} : { waitsFor }),
        signal,
      });
    const firstMaker = aMaker(appenders.open({ gatherMs: FIRST_GATHER_MS }));
    const mainMaker = aMaker(appenders.open());
    const slowOutcomes = appenders.open({ gatherMs: SLOW_GATHER_MS });
    const slowMaker = aMaker(slowOutcomes, 'slow_lane');
    const pacedMaker = aMaker(slowOutcomes, 'pace');
    this.#diverted = appenders.open({ gatherMs: DIVERT_GATHER_MS });
    this.#pending = new PendingFacts((deliveries) => this.#append(deliveries.map((one) => this.#scheduled(one))));
    const dependencies = { appender, sessions, topics, logger, signal };
    const nowMs = () => this.#clock.nowMs();
    const firstLane = new Lane(MAIN_LANE, nowMs, () => this.first.mayBegin);
    const mainLane = new Lane(MAIN_LANE, nowMs, () => this.main.mayBegin);
    const yields = () => firstLane.servesModestEndpoints || mainLane.servesModestEndpoints;
    const pace = new YieldingPace(nowMs, yields);
    const slowLane = new Lane(SLOW_LANE, nowMs, () => this.slow.mayBegin && pace.take(), yields);
    measureLane(metrics, firstLane, 'first');
    measureLane(metrics, mainLane, 'main');
    measureLane(metrics, slowLane, 'slow');
    metrics.add('gapless_attempts_diverted_total', {}, 0);
    metrics.add('gapless_produced_records_total', { topic: topicRole(topics.deadLetter) }, 0);
    this.first = new LaneFeeder(
      {
        group: ROUTER_GROUP,
        lane: firstLane,
        make: (due, flight, found) => firstMaker.make(due, flight, { found }).finally(() => this.#pending.end(due)),
        divert: (due) => this.#divert(due, this.#pending.end(due)),
        onComplete: (...place) => {
          places.reached(...place);
        },
      },
      dependencies,
    );
    this.main = new LaneFeeder(
      {
        group: MAIN_GROUP,
        lane: mainLane,
        make: (due, flight) => mainMaker.make(due, flight),
        divert: (due) => this.#divert(due, false),
      },
      dependencies,
    );
    this.slow = new LaneFeeder(
      {
        group: SLOW_GROUP,
        lane: slowLane,
        make: (due, flight) => slowMaker.make(due, flight),
      },
      dependencies,
    );
    const session = () => this.#pacedSession();
    const common = {
      attemptMs: config.deliveryTimeoutMs,
      factsEnd: () => positions.ends(topics.deliveries),
      projectedTo: () => overdue.projectedUpTo('deliveries', topics.deliveries),
      partitionOf: (id: EndpointId) => partitionOf(id, config.partitions),
      nowMs: () => performance.now(),
      logger,
    };
    this.#paced = new PacedPump({
      ...common,
      endpoints: pacedEndpoints,
      overdue,
      partitions: new PacedPartitions({
        ...common,
        session,
        assignment: () => sessions.of(SLOW_GROUP)?.generation,
        owners: pacedOwners,
        topic: topics.attemptsSlow,
        anId: randomUUID,
      }),
      ordered: {
        deliveries: orderedDeliveries,
        starts: new OrderStarts({
          ...common,
          deliveries: orderedDeliveries,
          endpoints: pacedEndpoints,
          routed: () => routedOf(positions, `${config.topicPrefix}-${ROUTER_GROUP}`, topics.log),
          partitionOfOrg: (id) => partitionOf(id, config.partitions),
        }),
        look: (due) => pacedMaker.look(due),
        prepare: (...upcoming) => {
          pacedMaker.prepareInOrder(...upcoming);
        },
        make: (...attempt) => pacedMaker.makeInOrder(...attempt),
      },
      make: (due, flight, hooks) => pacedMaker.make(due, flight, hooks),
      generation: () => session()?.generation,
      clockMs: () => clock.now(),
    });
    measurePump(metrics, this.#paced);
  }

  /**
   * Offers the first attempt of a delivery to its lane.
   * @param found given if the delivery is new for sure
   * @returns whether the lane has room for the attempt
   */
  offerFirst(due: DueAttempt, record: OpenRecord, found?: FoundTarget): boolean {
    if (record.offer(due, found) === 'share_full') return false;
    this.#pending.begin(due);
    return true;
  }

  /** Moves a first attempt to the slow lane for which its lane has no room. The caller goes on meanwhile. */
  divertFirst(due: DueAttempt, record: OpenRecord): void {
    this.#pending.begin(due);
    record.divert(due);
  }

  /**
   * Appends first attempts for the slow lane, and shows their deliveries as pending. Those of paced endpoints wait in the
   * delivery log alone. Retries until Kafka has them.
   * @param turn names records that take turns with the others
   */
  async putAside(dues: readonly AsideAttempt[], turn?: string): Promise<void> {
    const moved = dues.filter(({ isPaced }) => !isPaced).map(({ due }) => due);
    await this.#append(
      [...dues.map(({ due }) => this.#scheduled(due.delivery)), ...moved.map((due) => this.#moved(due))],
      {
        turn,
      },
    );
    this.kit.metrics.add('gapless_attempts_diverted_total', {}, moved.length);
  }

  /** The partitions of the slow lane. Their owner also paces their endpoints. */
  #pacedSession(): PacedSession | undefined {
    const session = this.slow.mayBegin ? this.sessions.of(SLOW_GROUP) : undefined;
    if (session === undefined) return undefined;
    return { generation: session.generation, partitions: session.assigned[this.kit.topics.attemptsSlow] ?? [] };
  }

  onApplicationBootstrap(): void {
    void this.#paced.run();
  }

  /** Runs before the consumers leave their groups, so that attempts that end in time are committed. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.first, this.main, this.slow, this.#paced].map((part) => part.drain(DRAIN_MS)));
    this.#pending.stop();
    this.#clock.stop();
    // Before anything that waits for Postgres: attempts that are left would begin late, beside their next owner's.
    this.#ending.abort(new Error('the process ends'));
    await this.places.save();
    await this.destination.close();
  }

  #scheduled(delivery: DeliveryRef): NewRecord {
    return factRecord(this.kit.topics.deliveries, { type: 'scheduled', delivery });
  }

  /** @param isNew whether the delivery is not shown as pending yet */
  async #divert(due: DueAttempt, isNew: boolean): Promise<void> {
    const records = [...(isNew ? [this.#scheduled(due.delivery)] : []), this.#moved(due)];
    await this.#append(records, { appender: this.#diverted });
    this.kit.metrics.add('gapless_attempts_diverted_total', {});
  }

  #moved(due: DueAttempt): NewRecord {
    return attemptRecord(this.kit.topics.attemptsSlow, due);
  }

  async #append(
    records: readonly NewRecord[],
    { appender = this.appender, turn }: { readonly appender?: Appender; readonly turn?: string | undefined } = {},
  ): Promise<void> {
    await untilItWorks(() => appender.append(records, turn), {
      signal: this.#ending.signal,
      onFailure: (error, failures, waitMs) => {
        this.kit.logger.warn({ err: error, failures, wait_ms: waitMs }, 'dispatcher.waiting');
      },
    });
  }
}

/** Returns the ends of the partitions of the log, and how far each is routed. Records that are no longer kept count. */
async function routedOf(positions: LogPositions, group: string, log: string) {
  return positions.together(async (all) => {
    // The ends come first: what is appended after them was not asked for.
    const bounds = await all.bounds(log);
    const committed = await all.committed(group, log);
    return {
      ends: new Map([...bounds].map(([partition, { begin, end }]) => [partition, begin === end ? 0 : end])),
      routedTo: new Map(
        [...bounds].map(([partition, { begin }]) => [partition, Math.max(begin, committed.get(partition) ?? 0)]),
      ),
    };
  });
}
