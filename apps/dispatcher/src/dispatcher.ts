import { setMaxListeners } from 'node:events';
import { Inject, Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { ENDPOINT_SHARE, ORG_SHARE, type Destination } from '#libs/domain';
import { EndpointDirectory } from '#libs/postgres';
import { Appender, Appenders, ConsumerSessions, type NewRecord, type StoredRecord } from '#libs/kafka-log';
import { StageKit } from '#libs/platform';
import { untilItWorks } from '#libs/runtime';
import { AttemptMaker } from './attempt-maker.js';
import { DispatchLookup } from './dispatch-lookup.js';
import { LaneFeeder } from './lane-feeder.js';
import { DESTINATION } from './destination.provider.js';
import { AttentiveClock } from './attentive-clock.js';
import { Lane, type LaneLimits } from './lane.js';
import { measureLane } from './measure-lane.js';
import { RecentAttempts } from './recent-attempts.js';
import { YieldingPace } from './yielding-pace.js';

export const MAIN_GROUP = 'dispatcher';
export const SLOW_GROUP = 'dispatcher-slow';

/**
 * With 64 attempts at a time, an endpoint that answers in 10 ms gets 6,400 a second. Eight such bursts fit in the lane;
 * an endpoint that hangs holds four of its 2,000 places.
 */
const MAIN_LANE: LaneLimits = {
  held: 2_000,
  keptForModest: 200,
  inFlightPerEndpoint: 64,
  heldPerOrg: ORG_SHARE,
  heldPerEndpoint: ENDPOINT_SHARE,
  heldPerSluggishEndpoint: 4,
};

/** Nothing is diverted from the slow lane: attempts without room stay in their partition. */
const SLOW_LANE: LaneLimits = {
  held: 1_000,
  keptForModest: 200,
  inFlightPerEndpoint: 64,
  heldPerOrg: 800,
  heldPerEndpoint: ENDPOINT_SHARE,
  heldPerSluggishEndpoint: ENDPOINT_SHARE,
};

/** How long outcomes of the slow lane are gathered: larger batches cost less per outcome. */
const SLOW_GATHER_MS = 10;

/** How far the projection may lag, in addition to the time that an attempt takes. */
const PROJECTION_LAG_MS = 5_000;

/** Attempts in flight get this long when the process stops. The rest is repeated after the restart. */
const DRAIN_MS = 4_000;

/** The two lanes that attempts are made in. */
@Injectable()
export class Dispatcher implements BeforeApplicationShutdown {
  readonly main: LaneFeeder;
  readonly slow: LaneFeeder;
  readonly #ending = new AbortController();
  readonly #clock = new AttentiveClock();

  constructor(
    directory: EndpointDirectory,
    appenders: Appenders,
    /** Appends the attempts that move from the main lane to the slow one. */
    private readonly appender: Appender,
    sessions: ConsumerSessions,
    private readonly kit: StageKit,
    @Inject(DESTINATION) private readonly destination: Destination,
  ) {
    const { config, topics, logger, clock, metrics } = kit;
    const { signal } = this.#ending;
    // Every held attempt listens to this signal.
    setMaxListeners(0, signal);
    const recent = new RecentAttempts(config.deliveryTimeoutMs + PROJECTION_LAG_MS, () => clock.now());
    // Each lane has its own look-ups and appends, and does not wait for those of the other.
    const aMaker = (outcomes: Appender) =>
      new AttemptMaker({
        kit,
        lookup: new DispatchLookup(directory, logger, signal),
        destination,
        appender: outcomes,
        recent,
        signal,
      });
    const mainMaker = aMaker(appenders.open());
    const slowMaker = aMaker(appenders.open({ gatherMs: SLOW_GATHER_MS }));
    const dependencies = { appender, sessions, topics, logger, signal };
    const nowMs = () => this.#clock.nowMs();
    const mainLane = new Lane(MAIN_LANE, nowMs, () => this.main.mayBegin);
    const yields = () => mainLane.servesModestEndpoints;
    const pace = new YieldingPace(nowMs, yields);
    const slowLane = new Lane(SLOW_LANE, nowMs, () => this.slow.mayBegin && pace.take(), yields);
    measureLane(metrics, mainLane, 'main');
    measureLane(metrics, slowLane, 'slow');
    metrics.add('gapless_attempts_diverted_total', {}, 0);
    this.main = new LaneFeeder(
      {
        group: MAIN_GROUP,
        lane: mainLane,
        make: (due, flight) => mainMaker.make(due, flight),
        divert: (record) => this.#divert(record),
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
  }

  /** Runs before the consumers leave their groups, so that attempts that end in time are committed. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.main.drain(DRAIN_MS), this.slow.drain(DRAIN_MS)]);
    this.#clock.stop();
    this.#ending.abort(new Error('the process ends'));
    await this.destination.close();
  }

  async #divert(record: StoredRecord): Promise<void> {
    const diverted: NewRecord = {
      topic: this.kit.topics.attemptsSlow,
      key: record.key,
      value: record.value,
      headers: record.headers,
    };
    await untilItWorks(() => this.appender.append([diverted]), {
      signal: this.#ending.signal,
      onFailure: (error, failures, waitMs) => {
        this.kit.logger.warn({ err: error, failures, wait_ms: waitMs }, 'dispatcher.waiting');
      },
    });
    this.kit.metrics.add('gapless_attempts_diverted_total', {});
  }
}
