import { setTimeout as delay } from 'node:timers/promises';
import { partitionOf } from '#libs/kafka-log';
import type { Bench, Scenario } from '../bench.js';
import { ingestBody } from '../event-bodies.js';
import type { Endpoint, GaplessApi } from '../gapless-api.js';
import type { GaplessProcess } from '../gapless-process.js';
import { Histogram } from '../histogram.js';
import type { Inbox, Manner, Receiver } from '../receiver.js';
import { figure, type Figure } from '../report.js';
import { Resources } from '../resources.js';

const HEALTHY_EVENT = 'ticket.created';
const NEIGHBOUR_EVENT = 'ticket.updated';
const HEALTHY_PER_SECOND = 20;
const NEIGHBOUR_PER_SECOND = 50;
const QUIET_MS = 15_000;
const BESIDE_MS = 20_000;
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

  private constructor(
    readonly bench: Bench,
    readonly gapless: GaplessProcess,
    readonly api: GaplessApi,
    readonly receiver: Receiver,
    private readonly healthyInbox: Inbox,
    private readonly healthy: Endpoint,
  ) {}

  static async prepare(bench: Bench): Promise<Stage> {
    // An endpoint that hangs would be disabled after some seconds, and would trouble nobody from then on.
    const gapless = await bench.gapless({ AUTO_DISABLE_AFTER: '1000000', PARTITIONS: String(PARTITIONS) });
    const api = bench.api(gapless);
    const receiver = await bench.receiver();
    const inbox = receiver.inbox();
    const stage = new Stage(bench, gapless, api, receiver, inbox, await api.createEndpoint(inbox.url, [HEALTHY_EVENT]));
    const load = bench.load(gapless, CONNECTIONS);
    await load.burst(WARM_UP_EVENTS, ingestBody(HEALTHY_EVENT));
    await receiver.untilReceived([inbox], WARM_UP_EVENTS);
    return stage;
  }

  async measureQuiet(): Promise<void> {
    this.bench.tell(`the healthy endpoint alone, ${HEALTHY_PER_SECOND} events/s for ${QUIET_MS / 1_000} s`);
    const quiet = (await this.beHealthy(QUIET_MS)).all();
    this.#quietP99Ms = quiet.quantile(0.99);
  }

  /** A neighbour of the same org whose attempts share the partition of the healthy endpoint's. */
  async neighbour(manner: Manner): Promise<{ readonly endpoint: Endpoint; readonly inbox: Inbox }> {
    const inbox = this.receiver.inbox(manner);
    for (;;) {
      const endpoint = await this.api.createEndpoint(inbox.url, [NEIGHBOUR_EVENT]);
      if (partitionOf(endpoint.id, PARTITIONS) === partitionOf(this.healthy.id, PARTITIONS)) return { endpoint, inbox };
      await this.api.deleteEndpoint(endpoint);
    }
  }

  /** Publishes to the healthy endpoint for the time, or until `until` is aborted, and waits for what is on its way. */
  async beHealthy(forMs: number, until?: AbortSignal): Promise<HealthyTraffic> {
    const before = this.healthyInbox.receivedAt.size;
    const load = this.bench.load(this.gapless, CONNECTIONS);
    const rate = { perSecond: HEALTHY_PER_SECOND, forMs, ...(until === undefined ? {} : { until }) };
    await load.steadily(rate, ingestBody(HEALTHY_EVENT));
    await this.receiver.untilReceived([this.healthyInbox], before + load.sentAt.size);
    return new HealthyTraffic(load.sentAt, this.healthyInbox.receivedAt);
  }

  figures(name: string, latencies: Histogram): readonly Figure[] {
    const p99Ms = latencies.quantile(0.99);
    return [
      figure(`${name}: p50`, latencies.quantile(0.5), 'ms'),
      figure(`${name}: p99`, p99Ms, 'ms'),
      figure(`${name}: p99, compared with quiet (${this.#quietP99Ms.toFixed(1)} ms)`, p99Ms / this.#quietP99Ms, '×'),
    ];
  }
}

/** When the healthy endpoint's events were sent and received. */
class HealthyTraffic {
  constructor(
    private readonly sentAt: ReadonlyMap<string, number>,
    private readonly receivedAt: ReadonlyMap<string, number>,
  ) {}

  all(): Histogram {
    return this.sentBetween(-Infinity, Infinity);
  }

  sentBetween(from: number, to: number): Histogram {
    const latencies = new Histogram();
    for (const [id, sentAt] of this.sentAt) {
      if (sentAt >= from && sentAt < to) latencies.record((this.receivedAt.get(id) ?? Number.NaN) - sentAt);
    }
    return latencies;
  }
}

/** Gets 50 events a second and answers in its manner. */
function troubled(name: string, manner: Manner): Neighbour {
  return async (stage) => {
    await stage.neighbour(manner);
    const load = stage.bench.load(stage.gapless, CONNECTIONS);
    const over = new AbortController();
    const traffic = load.steadily(
      { perSecond: NEIGHBOUR_PER_SECOND, forMs: LEAD_MS + BESIDE_MS + BACKLOG_LIMIT_MS, until: over.signal },
      ingestBody(NEIGHBOUR_EVENT),
    );
    try {
      stage.bench.tell(`beside ${name}, ${NEIGHBOUR_PER_SECOND} events/s to it, for ${BESIDE_MS / 1_000} s`);
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
 * endpoint's events stand behind them in the log of their org: a matter of order, and told apart.
 */
const backlogged: Neighbour = async (stage) => {
  const { endpoint, inbox } = await stage.neighbour({ kind: 'at_once' });
  const load = stage.bench.load(stage.gapless, 2);
  const drained = new AbortController();
  stage.bench.tell(`beside one with a backlog of ${BACKLOG_EVENTS.toLocaleString('en-US')} events`);
  const began = performance.now();
  const arriving = load.burst(
    BACKLOG_EVENTS / BACKLOG_REQUEST_EVENTS,
    ingestBody(NEIGHBOUR_EVENT, BACKLOG_REQUEST_EVENTS),
  );
  let arrivedAt = Number.NaN;
  let scheduledAt = Number.NaN;
  const draining = arriving
    .then(async () => {
      arrivedAt = performance.now();
      await stage.api.untilScheduled(endpoint, BACKLOG_EVENTS);
      scheduledAt = performance.now();
      await stage.receiver.untilReceived([inbox], BACKLOG_EVENTS);
    })
    .finally(() => {
      drained.abort();
    });
  const [traffic] = await Promise.all([stage.beHealthy(BACKLOG_LIMIT_MS, drained.signal), draining]);
  const drainedAt = inbox.lastReceivedAt;
  return [
    ...stage.figures('while 50,000 events of a neighbour are ingested', traffic.sentBetween(began, scheduledAt)),
    ...stage.figures('beside one with a backlog of 50,000', traffic.sentBetween(scheduledAt, drainedAt)),
    figure('the backlog is ingested', (BACKLOG_EVENTS * 1_000) / (arrivedAt - began), 'events/s'),
    figure('the backlog is drained', (BACKLOG_EVENTS * 1_000) / (drainedAt - began), 'deliveries/s'),
  ];
};

const NEIGHBOURS: readonly Neighbour[] = [
  troubled('one that hangs', { kind: 'never' }),
  troubled('one that answers after 9 s', { kind: 'after', ms: 9_000 }),
  backlogged,
];

export const isolation: Scenario = {
  name: 'isolation',
  description:
    'a healthy endpoint beside one that hangs, one that answers after 9 s, one with a backlog of 50,000 events',
  limitMs: 600_000,
  async run(bench) {
    const figures: Figure[] = [];
    for (const neighbour of NEIGHBOURS) {
      // What one neighbour leaves behind must not count against the next.
      const stage = await Stage.prepare(bench);
      await stage.measureQuiet();
      const resources = new Resources(stage.gapless.pid);
      figures.push(...(await neighbour(stage)), ...resources.cores());
      await bench.end();
    }
    return figures;
  },
};
