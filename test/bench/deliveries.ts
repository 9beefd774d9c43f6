import { setTimeout as delay } from 'node:timers/promises';
import type { Bench } from './bench.js';
import { figure, latencyFigures, type Figure } from './figures/figure.js';
import type { GaplessApi, Endpoint } from './system/gapless-api.js';
import type { GaplessProcess } from './system/gapless-process.js';
import { createOrgs, newOrgIdOfOnePartition } from './system/org-keys.js';
import { EVENT_BYTES } from './traffic/event-bodies.js';
import { monotonicMs } from './traffic/monotonic-clock.js';
import type { Pace } from './traffic/publishing.js';
import type { InboxGroup } from './traffic/receiver.js';

export const BENCH_EVENT = 'ticket.created';
/** What endpoints subscribe to that are to get nothing. */
export const OTHER_EVENT = 'ticket.updated';
/** What a process compiles in its first seconds is not what it does all day: it gets faster up to about here. */
const FRESH_WARM_UP_DELIVERIES = 15_000;
/** What fresh orgs and endpoints take. */
const WARM_UP_DELIVERIES = 2_000;
const IN_FLIGHT = 64;
/** What work leaves to be done later, such as committing offsets and collecting garbage, is a part of what it costs. */
const QUIET_MS = 12_000;

export interface DeliveriesOptions {
  readonly orgs: number;
  /** For each event. */
  readonly endpointsEach: number;
  /** Endpoints of each org that subscribe to something else; none if not given. */
  readonly otherEndpointsEach?: number;
  /** Of an event; as they are usual if not given. */
  readonly eventBytes?: number;
  /** How long each endpoint takes to answer, in milliseconds; at once if not given. */
  readonly answersAfterMs?: number;
  /** Whether all orgs share one partition of the log. */
  readonly shareOnePartition?: boolean;
}

export interface BurstOptions {
  readonly events: number;
  readonly eventsEachRequest: number;
}

const warm = new WeakSet<GaplessProcess>();

/** What a stretch of publishing needs to know of an org. */
interface OrgEndpoints {
  readonly api: GaplessApi;
  readonly endpoints: readonly Endpoint[];
}

/** A warm Gapless and fresh orgs with endpoints that answer at once, all subscribed to what is published. */
export class Deliveries {
  /** What all endpoints together have been sent. */
  #expected = 0;
  readonly #orgs: OrgEndpoints[] = [];
  #apiKey = '';
  #orgIds: readonly string[] = [];

  private constructor(
    private readonly bench: Bench,
    private readonly gapless: GaplessProcess,
    private readonly group: InboxGroup,
    private readonly options: DeliveriesOptions,
  ) {}

  /** @param own the Gapless to work on, if it is not the shared one */
  static async prepare(bench: Bench, options: DeliveriesOptions, own?: GaplessProcess): Promise<Deliveries> {
    const deliveries = await Deliveries.prepareCold(bench, options, own);
    const { gapless } = deliveries;
    const share = EVENT_BYTES / (options.eventBytes ?? EVENT_BYTES);
    const warmUp = Math.ceil(share * (warm.has(gapless) ? WARM_UP_DELIVERIES : FRESH_WARM_UP_DELIVERIES));
    bench.print(`warming up with ${warmUp.toLocaleString('en-US')} deliveries`);
    const requests = Math.ceil(warmUp / options.endpointsEach);
    await deliveries.#publish({ kind: 'burst', requests }, 1);
    warm.add(gapless);
    return deliveries;
  }

  /** The same, on a Gapless that has delivered nothing yet if it is fresh. */
  static async prepareCold(bench: Bench, options: DeliveriesOptions, own?: GaplessProcess): Promise<Deliveries> {
    const gapless = own ?? (await bench.gapless());
    const { answersAfterMs: ms } = options;
    const manner = ms === undefined ? undefined : ({ kind: 'after', ms } as const);
    const group = await bench.receiver.open(options.orgs * options.endpointsEach, manner);
    bench.onEnd(() => group.forget());
    const deliveries = new Deliveries(bench, gapless, group, options);
    await deliveries.#register();
    return deliveries;
  }

  /**
   * As many requests as fit through 64 connections, and the bare loop right before and after.
   * @param bareLoopBefore what the bare loop reached right before, if that is known
   */
  async burst(options: BurstOptions, bareLoopBefore?: number): Promise<Burst> {
    const { events, eventsEachRequest } = options;
    const deliveries = events * this.options.endpointsEach;
    const { eventBytes } = this.options;
    const before = bareLoopBefore ?? (await this.bench.bareLoop(eventBytes));
    this.bench.print(
      `${events.toLocaleString('en-US')} events, ${eventsEachRequest} a request; ` +
        `${deliveries.toLocaleString('en-US')} deliveries`,
    );
    const pace: Pace = { kind: 'burst', requests: events / eventsEachRequest };
    const { published, latencies, lastReceivedAt, settledAt, resources, repeats } = await this.#measure(
      pace,
      eventsEachRequest,
    );
    const after = await this.bench.bareLoop(eventBytes);
    const { firstSentAt } = published;
    this.bench.noteStretch({ name: `${eventsEachRequest} a request`, fromMs: firstSentAt, toMs: lastReceivedAt });
    const perSecond = (count: number, until: number) => (count * 1_000) / (until - firstSentAt);
    const delivered = perSecond(deliveries, lastReceivedAt);
    const bareLoop = (before + after) / 2;
    const { barePipelinePerSecond } = this.bench;
    return {
      bareLoopAfter: after,
      figures: [
        figure('delivered', delivered, 'deliveries/s'),
        figure('bare loop, before and after', bareLoop, 'requests/s'),
        figure('delivered, of the bare loop', delivered / bareLoop, '×'),
        ...(barePipelinePerSecond === undefined
          ? []
          : [figure('delivered, of the bare pipeline', delivered / barePipelinePerSecond, '×')]),
        figure('acknowledged', perSecond(events, published.lastAcknowledgedAt), 'events/s'),
        ...latencyFigures('acknowledgement', published.acknowledgements),
        ...latencyFigures('publish to receipt', latencies),
        figure('delivery log complete', perSecond(deliveries, settledAt), 'deliveries/s'),
        figure('repeated deliveries', repeats, ''),
        ...resources,
      ],
    };
  }

  /** Single-event requests at a fixed rate. */
  async steady(perSecond: number, seconds: number): Promise<readonly Figure[]> {
    this.bench.print(`${perSecond} events/s for ${seconds} s`);
    const { published, latencies, lastReceivedAt, resources, repeats } = await this.#measure(
      { kind: 'steady', perSecond, forMs: seconds * 1_000 },
      1,
    );
    this.bench.noteStretch({ name: `${perSecond} a second`, fromMs: published.firstSentAt, toMs: lastReceivedAt });
    return [
      ...latencyFigures('publish to receipt', latencies),
      ...latencyFigures('acknowledgement', published.acknowledgements),
      figure('repeated deliveries', repeats, ''),
      ...resources,
    ];
  }

  /** Orgs beyond the first are published for by a service, which names them. */
  async #register(): Promise<void> {
    const { database_url: databaseUrl, service_key: serviceKey } = this.gapless.credentials;
    const { orgs, endpointsEach, otherEndpointsEach = 0, shareOnePartition } = this.options;
    const keys = await createOrgs(databaseUrl, orgs, shareOnePartition ? newOrgIdOfOnePartition : undefined);
    const [first] = keys;
    if (first === undefined) throw new Error('there are no orgs');
    this.#apiKey = orgs === 1 ? first.apiKey : serviceKey;
    this.#orgIds = orgs === 1 ? [] : keys.map(({ orgId }) => orgId);
    const urls = [...this.group.urls];
    const [someUrl = ''] = urls;
    for (const { apiKey } of keys) {
      const api = this.bench.api(this.gapless, apiKey);
      const endpoints: Endpoint[] = [];
      for (const url of urls.splice(0, endpointsEach)) endpoints.push(await api.createEndpoint(url, [BENCH_EVENT]));
      for (let made = 0; made < otherEndpointsEach; made++) await api.createEndpoint(someUrl, [OTHER_EVENT]);
      this.#orgs.push({ api, endpoints });
    }
  }

  /** Publishes, and measures what it costs, a quiet time after it included. */
  async #measure(pace: Pace, eventsEachRequest: number) {
    const { bench } = this;
    const cost = bench.resources(this.gapless);
    const results = await this.#publish(pace, eventsEachRequest);
    const cores = cost.cores();
    await delay(QUIET_MS, undefined, { signal: bench.signal });
    const resources = [...cost.costs({ count: results.deliveries, of: 'deliveries' }), ...cores];
    return { ...results, resources };
  }

  /** Publishes and waits until everything is received and in the delivery log. */
  async #publish(pace: Pace, eventsEachRequest: number) {
    const { bench, group } = this;
    const { endpointsEach, eventBytes } = this.options;
    const { repeats: repeatsBefore } = await group.progress();
    const published = await bench.load.publish({
      baseUrl: this.gapless.credentials.base_url,
      apiKey: this.#apiKey,
      event: BENCH_EVENT,
      orgIds: this.#orgIds,
      eventsEachRequest,
      eventBytes,
      connections: IN_FLIGHT,
      pace,
    });
    const deliveries = published.count * endpointsEach;
    this.#expected += deliveries;
    await group.untilReceived(this.#expected, bench.signal);
    await this.#untilLogged();
    const settledAt = monotonicMs();
    const receipts = await group.receipts();
    const { repeats } = await group.progress();
    return {
      published,
      latencies: receipts.latencies(published.sentAt, endpointsEach),
      lastReceivedAt: receipts.lastAt,
      settledAt,
      deliveries,
      repeats: repeats - repeatsBefore,
    };
  }

  /** Each org has the same share of the events, but for the last few. */
  async #untilLogged(): Promise<void> {
    const eventsEach = Math.floor(this.#expected / this.options.endpointsEach / this.#orgs.length);
    for (const { api, endpoints } of this.#orgs) await api.untilDelivered(endpoints, eventsEach);
  }
}

export interface Burst {
  readonly figures: readonly Figure[];
  /** What the bare loop reached right after, in requests per second. */
  readonly bareLoopAfter: number;
}
