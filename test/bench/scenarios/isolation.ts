import { setTimeout as delay } from 'node:timers/promises';
import { partitionOf } from '#libs/kafka-log';
import type { Bench } from '../bench.js';
import { figure, type Figure } from '../figures/figure.js';
import type { Histogram } from '../figures/histogram.js';
import type { Scenario } from '../scenario.js';
import type { Endpoint, GaplessApi } from '../system/gapless-api.js';
import type { GaplessProcess } from '../system/gapless-process.js';
import type { Manner } from '../traffic/inbox.js';
import { monotonicMs } from '../traffic/monotonic-clock.js';
import type { Published } from '../traffic/published.js';
import type { Pace } from '../traffic/publishing.js';
import type { Receipts } from '../traffic/receipts.js';
import type { InboxGroup } from '../traffic/receiver.js';

const HEALTHY_EVENT = 'ticket.created';
const NEIGHBOUR_EVENT = 'ticket.updated';
const HEALTHY_PER_SECOND = 20;
const NEIGHBOUR_PER_SECOND = 50;
/** Long enough that more than a few events make the p99. */
const QUIET_MS = 30_000;
const BESIDE_MS = 40_000;
/** What a neighbour gets before its effect is measured, so that it has filled what it can fill. */
const LEAD_MS = 5_000;
const WARM_UP_EVENTS = 500;
const CONNECTIONS = 16;
const BACKLOG_EVENTS = 50_000;
const BACKLOG_REQUEST_EVENTS = 500;
const BACKLOG_LIMIT_MS = 120_000;
const PARTITIONS = 4;

/** Runs beside the healthy endpoint until it is done with what it does. */
type Neighbour = (stage: Stage) => Promise<readonly Figure[]>;

/** A healthy endpoint, and room for a neighbour that is as near as can be. */
class Stage {
  /** p99 of the healthy endpoint while it is alone. */
  #quietP99Ms = Number.NaN;
  #healthyEvents = 0;

  private constructor(
    readonly bench: Bench,
    readonly gapless: GaplessProcess,
    readonly api: GaplessApi,
    private readonly healthyInbox: InboxGroup,
    private readonly healthy: Endpoint,
  ) {}

  static async prepare(bench: Bench): Promise<Stage> {
    // An endpoint that hangs would be disabled after some seconds, and would trouble nobody from then on.
    const gapless = await bench.ownGapless({
      environment: { AUTO_DISABLE_AFTER: '1000000', PARTITIONS: String(PARTITIONS) },
    });
    const api = bench.api(gapless);
    const inbox = await bench.receiver.open(1);
    const stage = new Stage(bench, gapless, api, inbox, await api.createEndpoint(inbox.urls[0] ?? '', [HEALTHY_EVENT]));
    await stage.#receiveHealthy({ kind: 'burst', requests: WARM_UP_EVENTS });
    return stage;
  }

  async measureQuiet(): Promise<readonly Figure[]> {
    this.bench.print(`the healthy endpoint alone, ${HEALTHY_PER_SECOND} events/s for ${QUIET_MS / 1_000} s`);
    const quiet = (await this.beHealthy(QUIET_MS)).all();
    this.#quietP99Ms = quiet.quantile(0.99);
    return [figure('alone: p50', quiet.quantile(0.5), 'ms'), figure('alone: p99', this.#quietP99Ms, 'ms')];
  }

  /** A neighbour of the same org whose attempts share the partition of the healthy endpoint's. */
  async neighbour(manner: Manner): Promise<{ readonly endpoint: Endpoint; readonly inbox: InboxGroup }> {
    const inbox = await this.bench.receiver.open(1, manner);
    for (;;) {
      const endpoint = await this.api.createEndpoint(inbox.urls[0] ?? '', [NEIGHBOUR_EVENT]);
      if (partitionOf(endpoint.id, PARTITIONS) === partitionOf(this.healthy.id, PARTITIONS)) return { endpoint, inbox };
      await this.api.deleteEndpoint(endpoint);
    }
  }

  /** Publishes to the healthy endpoint for the time, or until `until` is aborted, and waits for what is on its way. */
  async beHealthy(forMs: number, until?: AbortSignal): Promise<HealthyTraffic> {
    return this.#receiveHealthy({ kind: 'steady', perSecond: HEALTHY_PER_SECOND, forMs }, until);
  }

  publish(
    event: string,
    pace: Pace,
    { eventsEachRequest = 1, connections = CONNECTIONS } = {},
    until?: AbortSignal,
  ): Promise<Published> {
    const { base_url: baseUrl, api_key: apiKey } = this.gapless.credentials;
    const order = { baseUrl, apiKey, event, orgIds: [], eventsEachRequest, connections, pace };
    return this.bench.load.publish(order, until);
  }

  figures(name: string, latencies: Histogram): readonly Figure[] {
    const p99Ms = latencies.quantile(0.99);
    return [
      figure(`${name}: p50`, latencies.quantile(0.5), 'ms'),
      figure(`${name}: p99`, p99Ms, 'ms'),
      figure(`${name}: p99, compared with alone`, p99Ms / this.#quietP99Ms, '×'),
    ];
  }

  async #receiveHealthy(pace: Pace, until?: AbortSignal): Promise<HealthyTraffic> {
    const { sentAt } = await this.publish(HEALTHY_EVENT, pace, {}, until);
    this.#healthyEvents += sentAt.size;
    await this.healthyInbox.untilReceived(this.#healthyEvents, this.bench.signal);
    return new HealthyTraffic(sentAt, await this.healthyInbox.receipts());
  }
}

/** When the healthy endpoint's events were sent and received. */
class HealthyTraffic {
  constructor(
    private readonly sentAt: ReadonlyMap<string, number>,
    private readonly receipts: Receipts,
  ) {}

  all(): Histogram {
    return this.receipts.latencies(this.sentAt);
  }

  sentBetween(from: number, to: number): Histogram {
    return this.receipts.latencies(new Map([...this.sentAt].filter(([, at]) => at >= from && at < to)));
  }
}

/** Gets 50 events a second and answers in its manner. */
function troubled(name: string, manner: Manner): Neighbour {
  return async (stage) => {
    await stage.neighbour(manner);
    const over = new AbortController();
    const traffic = stage.publish(
      NEIGHBOUR_EVENT,
      { kind: 'steady', perSecond: NEIGHBOUR_PER_SECOND, forMs: LEAD_MS + BESIDE_MS + BACKLOG_LIMIT_MS },
      {},
      over.signal,
    );
    try {
      stage.bench.print(`beside ${name}, ${NEIGHBOUR_PER_SECOND} events/s to it, for ${BESIDE_MS / 1_000} s`);
      await Promise.race([delay(LEAD_MS, undefined, { signal: stage.bench.signal }), traffic]);
      return stage.figures(`beside ${name}`, (await stage.beHealthy(BESIDE_MS)).all());
    } finally {
      over.abort();
      await traffic;
    }
  };
}

/**
 * Gets 50,000 events as fast as they can be ingested, and answers at once. Until all of them are scheduled, the healthy
 * endpoint's events come after these in the log of their org. That is a matter of order, and reported by itself.
 */
const backlogged: Neighbour = async (stage) => {
  const { endpoint, inbox } = await stage.neighbour({ kind: 'at_once' });
  const drained = new AbortController();
  stage.bench.print(`beside one with a backlog of ${BACKLOG_EVENTS.toLocaleString('en-US')} events`);
  const began = monotonicMs();
  const arriving = stage.publish(
    NEIGHBOUR_EVENT,
    { kind: 'burst', requests: BACKLOG_EVENTS / BACKLOG_REQUEST_EVENTS },
    { eventsEachRequest: BACKLOG_REQUEST_EVENTS, connections: 2 },
  );
  let arrivedAt = Number.NaN;
  let scheduledAt = Number.NaN;
  const draining = arriving
    .then(async () => {
      arrivedAt = monotonicMs();
      await stage.api.untilScheduled(endpoint, BACKLOG_EVENTS);
      scheduledAt = monotonicMs();
      await inbox.untilReceived(BACKLOG_EVENTS, stage.bench.signal);
    })
    .finally(() => {
      drained.abort();
    });
  const [traffic] = await Promise.all([stage.beHealthy(BACKLOG_LIMIT_MS, drained.signal), draining]);
  const { lastAt: drainedAt } = await inbox.receipts();
  return [
    ...stage.figures('while 50,000 events of a neighbour are ingested', traffic.sentBetween(began, scheduledAt)),
    ...stage.figures('beside one with a backlog of 50,000', traffic.sentBetween(scheduledAt, drainedAt)),
    figure('the backlog is ingested', (BACKLOG_EVENTS * 1_000) / (arrivedAt - began), 'events/s'),
    figure('the backlog is drained', (BACKLOG_EVENTS * 1_000) / (drainedAt - began), 'deliveries/s'),
  ];
};

function beside(neighbour: Neighbour): Scenario['run'] {
  return async (bench) => {
    const stage = await Stage.prepare(bench);
    const alone = await stage.measureQuiet();
    const resources = bench.resources(stage.gapless);
    return [...(await neighbour(stage)), ...alone, ...resources.cores()];
  };
}

export const isolation: Scenario = {
  name: 'isolation',
  description: 'a healthy endpoint at 20 events/s, alone and then beside one that hangs and gets 50 events/s',
  limitMs: 300_000,
  runsByDefault: 1,
  run: beside(troubled('one that hangs', { kind: 'never' })),
};

export const healthyNeighbour: Scenario = {
  name: 'healthy-neighbour',
  description: 'the same beside one that answers at once: what the load by itself does',
  limitMs: 300_000,
  run: beside(troubled('one that answers at once', { kind: 'at_once' })),
};

export const slowNeighbour: Scenario = {
  name: 'slow-neighbour',
  description: 'the same beside one that answers after 9 s',
  limitMs: 300_000,
  run: beside(troubled('one that answers after 9 s', { kind: 'after', ms: 9_000 })),
};

export const backloggedNeighbour: Scenario = {
  name: 'backlogged-neighbour',
  description: 'the same beside one with a backlog of 50,000 events',
  limitMs: 300_000,
  run: beside(backlogged),
};
