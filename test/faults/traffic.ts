import { setTimeout as delay } from 'node:timers/promises';
import { Store } from '#libs/postgres';
import { createLogger } from '#libs/runtime';
import { ApiClient } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { aWidgetId } from '../support/ids.js';
import { readTopic } from '../support/log-reader.js';
import { alertOf, alertsOf, isAlertEvent, staffAlertOf, type StaffAlert } from './chat-alerts.js';
import { AgentSubscriber, isForAgent, seqOfCursor, subscribe } from './agent-subscriber.js';
import { CustomerServer } from './customer-server.js';
import { CustomerEndpoint, isFor } from './customer.js';
import { FeedReader } from './feed-reader.js';
import { Ledger, type SubmittedEvent } from './ledger.js';
import { anOrgOn } from './org-on-partition.js';
import type { StallWatch } from './stall-watch.js';
import { SteadyLoad, type LoadPlan } from './steady-load.js';
import type { Evidence, FeedPage, LogRecord } from './verdict.js';

/** The Gapless that carries it. */
export interface TrafficTarget {
  readonly brokers: string;
  readonly databaseUrl: string;
  readonly logTopic: string;
  readonly staffAlertsTopic: string;
  readonly partitions: number;
  /** The base urls of the apis that are there at this moment. */
  readonly apiUrls: () => readonly string[];
}

export interface TrafficOptions {
  /** How much is submitted, and what; 30 small events a second if nothing is said. */
  readonly load?: LoadPlan;
  readonly draw: (below: number) => number;
  /** Organizations without endpoints that the load leaves alone. */
  readonly quietOrgs?: number;
  /** Gives each organization of the load two more endpoints, which get their events in order. */
  readonly hasOrderedEndpoints?: boolean;
  /** How long after the load everything may take to be where it belongs. */
  readonly settleMs?: number;
  /** Aborted when everything has to end early. */
  readonly signal: AbortSignal;
}

/** Between a load that has ended and everything being where it belongs. */
const SETTLE_MS = 180_000;
const ACKNOWLEDGE_MS = 45_000;
const POLL_MS = 500;
/** Short, so that chats cross both thresholds while a fault lasts. */
const ALERT_SECONDS = { first: 3, second: 6 };

export interface Org {
  readonly orgId: string;
  readonly apiKey: string;
  /** The endpoints' ids, with what each of them has to be pushed. */
  readonly endpoints: { readonly id: string; readonly customer: CustomerEndpoint }[];
  /** Its agents, with their callbacks. */
  readonly agents: { readonly agent: AgentSubscriber; readonly callback: string }[];
}

/**
 * Organizations with endpoints and feed readers on a Gapless, a load for them, and a ledger: what a Gapless is tried
 * with, and what proves that it lost nothing. Nobody else may use the Gapless.
 */
export class Traffic {
  readonly ledger = new Ledger();
  readonly #orgs: Org[] = [];
  readonly #readers: FeedReader[] = [];
  readonly #load: SteadyLoad;
  /** Staff alerts that were read along. */
  #toldStaff: readonly StaffAlert[] = [];

  private constructor(
    private readonly target: TrafficTarget,
    private readonly options: TrafficOptions,
    readonly customers: CustomerServer,
    keys: TrafficKeys,
    /** What product services submit with, to any organization. */
    readonly serviceKey: string,
    /** Those that the choosy endpoints subscribe to. */
    private readonly widgets: readonly string[],
  ) {
    for (const org of keys.orgs) this.#orgs.push({ ...org, endpoints: [], agents: [] });
    for (const org of keys.quietOrgs) this.#orgs.push({ ...org, endpoints: [], agents: [] });
    this.#load = new SteadyLoad(
      {
        urls: target.apiUrls,
        apiKey: this.serviceKey,
        orgIds: keys.orgs.map(({ orgId }) => orgId),
        widgetIds: [aWidgetId(), ...widgets],
      },
      this.ledger,
      options.draw,
      options.load,
    );
  }

  /** Makes the organizations, one for each partition, and registers their endpoints. Nothing is submitted yet. */
  static async prepare(target: TrafficTarget, options: TrafficOptions): Promise<Traffic> {
    const keys = await createKeys(target, options);
    const customers = await CustomerServer.start();
    const traffic = new Traffic(target, options, customers, keys, keys.serviceKey, [aWidgetId()]);
    try {
      await traffic.#register();
      return traffic;
    } catch (error) {
      await traffic.close();
      throw error;
    }
  }

  /** Starts the load and the readers of the feeds. Resolves once events are pushed; stalls count from then on. */
  async start(): Promise<void> {
    for (const { apiKey } of this.busyOrgs) {
      const reader = new FeedReader(() => this.#client(apiKey));
      this.#readers.push(reader);
      reader.start();
    }
    this.#load.start();
    await this.untilFlowing();
    for (const { stalls } of this.#waiting) stalls.begin();
  }

  /** Those that the load submits to. */
  get busyOrgs(): readonly Org[] {
    return this.#orgs.slice(0, this.target.partitions);
  }

  /** Those that the load leaves alone. */
  get quietOrgs(): readonly { readonly orgId: string; readonly apiKey: string }[] {
    return this.#orgs.slice(this.target.partitions);
  }

  /** The longest time that an endpoint or a reader of a feed got nothing new, though events were submitted. */
  get longestStallMs(): number {
    return Math.max(...this.#waiting.map(({ stalls }) => stalls.longestMs));
  }

  /** Waits until so many more events have been pushed: the whole way through is open. */
  async untilFlowing(events = 30): Promise<void> {
    const before = this.customers.arrived;
    await until(() => this.customers.arrived >= before + events, {
      what: 'a flow of events',
      withinMs: 60_000,
      signal: this.options.signal,
    });
  }

  /** Ends the load and waits until nothing moves any more. @returns what is not where it belongs by then, in words */
  async settle(): Promise<readonly string[]> {
    await this.#load.finish(ACKNOWLEDGE_MS);
    const deadline = performance.now() + (this.options.settleMs ?? SETTLE_MS);
    for (;;) {
      const unsettled = await this.#unsettled().catch((error: unknown) => [String(error)]);
      if (unsettled.length === 0 || performance.now() > deadline) return unsettled;
      await delay(POLL_MS, undefined, { signal: this.options.signal });
    }
  }

  /** What can be seen from outside: read as data teams, clients and customers do. */
  async evidence(): Promise<Evidence> {
    return {
      ledger: this.ledger,
      log: await this.#readLog(),
      feeds: await this.#readFeeds(),
      received: this.customers.endpoints,
      agents: this.customers.agents,
      staffAlerts: await this.#readStaffAlerts(),
    };
  }

  /** Ends the load, the readers and the customers. */
  async close(): Promise<void> {
    await this.#load.close();
    await Promise.all(this.#readers.map((reader) => reader.close()));
    await this.customers.close();
  }

  /** The log as any Kafka client reads it. */
  async #readLog(): Promise<readonly LogRecord[]> {
    const records = await readTopic(this.target.brokers, this.target.logTopic);
    return records.map(({ key, value, headers, timestampMs }) => ({
      orgId: key,
      seq: Number(headers['seq']),
      id: headers['ce_id'] ?? '',
      event: headers['ce_type'] ?? '',
      appendedAtMs: timestampMs,
      envelope: value,
    }));
  }

  /** Reads the staff alerts along, as their consumers do: a fault is about to take the last of them away. */
  async readStaffAlertsAlong(): Promise<void> {
    this.#toldStaff = await this.#readStaffAlerts();
  }

  /** The staff alerts of the topic, and those that were read before a fault took them away. */
  async #readStaffAlerts(): Promise<readonly StaffAlert[]> {
    const records = await readTopic(this.target.brokers, this.target.staffAlertsTopic);
    const kept = records.map(({ value }) => {
      const alert = JSON.parse(value.toString()) as { conversation_id: string; stage: number; event_id: string };
      return { conversationId: alert.conversation_id, stage: alert.stage, eventId: alert.event_id };
    });
    const isKept = new Set(kept.map(({ eventId }) => eventId));
    return [...kept, ...this.#toldStaff.filter(({ eventId }) => !isKept.has(eventId))];
  }

  /** Every org's feed as its clients read it, page by page. */
  async #readFeeds(): Promise<readonly FeedPage[]> {
    const pages: FeedPage[] = [];
    for (const { orgId, apiKey } of this.#orgs) {
      const client = this.#client(apiKey);
      for (let since: number | null = 0; since !== null;) {
        const text = await client.feedText(`since=${since}&limit=500`);
        pages.push({ orgId, text });
        since = (JSON.parse(text) as { next_seq: number | null }).next_seq;
      }
    }
    return pages;
  }

  /**
   * Each org has an endpoint that takes everything, and one that is choosy and now and then wants an event again. One that
   * is ordered as a whole and one that is ordered by subject take everything, and now and then want an event again.
   */
  async #register(): Promise<void> {
    for (const [index, org] of this.busyOrgs.entries()) {
      const { orgId, apiKey, endpoints } = org;
      await this.#client(apiKey).setAlertThresholds(orgId, ALERT_SECONDS);
      const everything = { orgId, events: ['ticket.created', 'ticket.updated'], widgetIds: null };
      const some = { orgId, events: ['ticket.updated'], widgetIds: this.widgets };
      const ordered = [
        new CustomerEndpoint(`endpoint ${index}c`, { ...everything, ordering: { by: 'endpoint', batch: 25 } }, 7),
        new CustomerEndpoint(`endpoint ${index}d`, { ...everything, ordering: { by: 'subject', batch: 1 } }, 11),
      ];
      for (const customer of [
        new CustomerEndpoint(`endpoint ${index}a`, everything, 0),
        new CustomerEndpoint(`endpoint ${index}b`, some, 5),
        ...(this.options.hasOrderedEndpoints === true ? ordered : []),
      ]) {
        endpoints.push({ id: await this.#createEndpoint(apiKey, customer), customer });
      }
      await this.#subscribeAgents(org, index);
    }
  }

  /** Each org has an agent that takes every event of a type, and one that selects and refuses, as the endpoints do. */
  async #subscribeAgents({ orgId, apiKey, agents }: Org, index: number): Promise<void> {
    const [widgetId = ''] = this.widgets;
    for (const agent of [
      new AgentSubscriber(`agent ${index}a`, { orgId, event: 'ticket.created', arguments: {}, selects: () => true }, 0),
      new AgentSubscriber(
        `agent ${index}b`,
        {
          orgId,
          event: 'ticket.updated',
          arguments: { widget_id: widgetId, filter: 'event.data.n % 3 != 0' },
          selects: (data) => (data as { n: number }).n % 3 !== 0,
        },
        5,
      ),
    ]) {
      const callback = this.customers.addAgent(agent);
      agents.push({ agent, callback });
      await subscribe(this.target.apiUrls()[0] ?? '', apiKey, agent, callback);
    }
  }

  /**
   * Registers one more endpoint, while events are submitted.
   * @returns its id
   */
  async register(customer: CustomerEndpoint): Promise<string> {
    const org = this.#orgs.find(({ orgId }) => orgId === customer.subscription.orgId);
    if (org === undefined) throw new Error('the endpoint is of no organization of this traffic');
    const afterMs = Date.now();
    const id = await this.#createEndpoint(org.apiKey, customer);
    customer.registered = { afterMs, beforeMs: Date.now() };
    org.endpoints.push({ id, customer });
    return id;
  }

  async #createEndpoint(apiKey: string, customer: CustomerEndpoint): Promise<string> {
    const { events, widgetIds, ordering } = customer.subscription;
    const url = this.customers.add(customer);
    const webhook = await this.#client(apiKey).createWebhook({ url, events, widget_ids: widgetIds, ordering });
    customer.secret = webhook.secret;
    return webhook.id;
  }

  async #unsettled(): Promise<readonly string[]> {
    const unsettled: string[] = [];
    const pages = await this.#readFeeds();
    const shown = pages.flatMap(({ text }) => (JSON.parse(text) as { data: ShownEvent[] }).data);
    const inFeed = new Set(shown.map(({ id }) => id));
    const missing = [...this.ledger.acknowledged].filter(
      (id) => !inFeed.has(id) && !this.ledger.removed.has(id),
    ).length;
    if (missing > 0) unsettled.push(`${missing} acknowledged events are not in the feed`);
    const events = [...this.ledger.submitted.values()].filter(({ id }) => inFeed.has(id));
    for (const { apiKey, endpoints } of this.#orgs) {
      for (const { id, customer } of endpoints) {
        const due = events.filter((event) => isFor(customer.subscription, event)).length;
        const path = `/external/webhooks/${id}`;
        const { text } = await this.#client(apiKey).request('GET', path);
        const { data } = JSON.parse(text) as { data: { health: { pending: number; delivered_24h: number } } };
        const { pending, delivered_24h: delivered } = data.health;
        // How many of them came after an endpoint that was registered in between, the log shows in the end.
        const arrived = [...customer.arrivals.keys()].filter((one) => inFeed.has(one)).length;
        const isAllThere = customer.registered !== null || (delivered === due && arrived === due);
        if (pending > 0 || !isAllThere) {
          unsettled.push(
            `${customer.name} got ${arrived} of ${due} events; ` +
              `its delivery log has ${delivered} delivered and ${pending} pending`,
          );
        }
      }
    }
    for (const org of this.busyOrgs) unsettled.push(...(await this.#unsettledAgents(org, events)));
    if (unsettled.length > 0) return unsettled;
    return this.#unraisedAlerts(shown, inFeed);
  }

  /**
   * What agents have yet to get, in words. A refresh says so, too: its cursor passes an event that is delivered. No event
   * is past retention, so it must not report a gap.
   */
  async #unsettledAgents({ apiKey, agents }: Org, events: readonly SubmittedEvent[]): Promise<readonly string[]> {
    const unsettled: string[] = [];
    for (const { agent, callback } of agents) {
      const { cursor, truncated } = await subscribe(this.target.apiUrls()[0] ?? '', apiKey, agent, callback);
      if (truncated) agent.wrong.push(`${agent.name} got notice of a gap that is not there`);
      const got = new Set(agent.arrivals.map(({ eventId }) => eventId));
      const due = events.filter((event) => isForAgent(agent.subscription, event));
      const missing = due.filter(({ id }) => !got.has(id)).length;
      const last = Math.max(0, ...agent.arrivals.map(({ seq }) => seq));
      if (missing === 0 && seqOfCursor(cursor) >= last) continue;
      unsettled.push(
        `${agent.name} misses ${missing} of ${due.length} events; its cursor is at ${seqOfCursor(cursor)}`,
      );
    }
    return unsettled;
  }

  /** Alerts that chats have yet to raise, in words. */
  async #unraisedAlerts(shown: readonly ShownEvent[], inFeed: ReadonlySet<string>): Promise<readonly string[]> {
    const { expected } = alertsOf(this.ledger.chats, inFeed);
    const raised = new Set(
      shown.flatMap(({ event, data }) => (isAlertEvent(event) ? [alertOf(event, data.conversation?.id ?? '')] : [])),
    );
    const unraised = [...expected].filter((alert) => !raised.has(alert)).length;
    if (unraised > 0) return [`${unraised} alerts of chats that wait are not in the feed`];
    const told = new Set((await this.#readStaffAlerts()).map(staffAlertOf));
    const untold = [...expected].filter((alert) => !told.has(alert)).length;
    return untold > 0 ? [`${untold} alerts are not with the staff`] : [];
  }

  /** The readers that wait for every event: to the others, events come seldom anyway. */
  get #waiting(): readonly { readonly stalls: StallWatch }[] {
    const endpoints = this.customers.endpoints.filter(({ subscription }) => subscription.widgetIds === null);
    return [...endpoints, ...this.#readers];
  }

  #client(apiKey: string): ApiClient {
    return new ApiClient(this.target.apiUrls()[0] ?? '', apiKey);
  }
}

/** What the suite reads of an event of the feed. */
interface ShownEvent {
  readonly id: string;
  readonly event: string;
  readonly data: { readonly conversation?: { readonly id: string } };
}

/** Waits until the condition holds. @throws the signal's reason when aborted, an error when it takes too long */
export async function until(
  holds: () => boolean | Promise<boolean>,
  { what, withinMs, signal }: { readonly what: string; readonly withinMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`${what} did not come about within ${withinMs / 1_000} s`);
    await delay(POLL_MS, undefined, { signal });
  }
}

interface OrgKey {
  readonly orgId: string;
  readonly apiKey: string;
}

interface TrafficKeys {
  readonly orgs: readonly OrgKey[];
  readonly quietOrgs: readonly OrgKey[];
  /** What the load submits with. */
  readonly serviceKey: string;
}

async function createKeys(
  { databaseUrl, partitions }: TrafficTarget,
  { quietOrgs = 0, signal }: TrafficOptions,
): Promise<TrafficKeys> {
  const logger = createLogger('silent', 'faults');
  const store = new Store({ databaseUrl, applicationName: 'faults', logger, migratesWhenOpened: true });
  await store.open(() => undefined, signal);
  try {
    const orgs: OrgKey[] = [];
    for (let nth = 0; nth < partitions + quietOrgs; nth++) {
      const orgId = anOrgOn(nth % partitions, partitions);
      orgs.push({ orgId, apiKey: await anApiKey(store, orgId) });
    }
    return {
      orgs: orgs.slice(0, partitions),
      quietOrgs: orgs.slice(partitions),
      serviceKey: await anApiKey(store, null),
    };
  } finally {
    await store.close();
  }
}
