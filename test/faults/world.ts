import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startEmbeddedKafkaCluster, stopLeftovers, type EmbeddedKafkaCluster } from '#libs/embedded-stack';
import { Store } from '#libs/feed-store';
import { createLogger } from '#libs/runtime';
import { ApiClient } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { anEnvironment } from '../support/environment.js';
import { aWidgetId } from '../support/ids.js';
import { readTopic } from '../support/log-reader.js';
import { ROOT } from '../support/root.js';
import { drawsFrom } from '../support/sequence.js';
import { CustomerServer } from './customer-server.js';
import { CustomerEndpoint, isFor } from './customer.js';
import { FeedReader } from './feed-reader.js';
import { Ledger } from './ledger.js';
import { anOrgOn } from './org-on-partition.js';
import { PostgresServer } from './postgres-server.js';
import { SmallVolume, unmount } from './small-volume.js';
import { StageFleet, type Stage } from './stage-fleet.js';
import type { StallWatch } from './stall-watch.js';
import { SteadyLoad } from './steady-load.js';
import type { FeedPage, LogRecord } from './verdict.js';

/** What a fault is done to. */
export interface WorldPlan {
  /** Kafka nodes (default 1). */
  readonly brokers?: number;
  /** Processes of each stage (default 1). */
  readonly instances?: Partial<Readonly<Record<Stage, number>>>;
  /** Puts Postgres on a volume of this size, which can be filled up. */
  readonly postgresVolumeMiB?: number;
}

export interface WorldOptions extends WorldPlan {
  /** Taken for this world alone, and removed when it ends. */
  readonly dataDir: string;
  readonly seed: number;
  /** Aborted when the fault has to end early. */
  readonly signal: AbortSignal;
  readonly tell: (progress: string) => void;
}

/** One for each partition, so that whoever has a partition has something to do. */
const PARTITIONS = 3;
/** Between a load that has ended and everything being where it belongs. */
const SETTLE_MS = 60_000;
const ACKNOWLEDGE_MS = 45_000;
const POLL_MS = 500;
/** Short, so that a retry is no reason to wait. */
const SETTINGS = { RETRY_SCHEDULE: '1s,1s,2s,2s,5s,5s,5s,5s', AUTO_DISABLE_AFTER: '1000000', DELIVERY_TIMEOUT: '5s' };

interface Org {
  readonly orgId: string;
  readonly apiKey: string;
  /** The endpoints' ids, with what each of them has to be pushed. */
  readonly endpoints: { readonly id: string; readonly customer: CustomerEndpoint }[];
}

/** A Gapless of processes of its own, its servers, its customers, and a load: what a fault strikes, and what proves it. */
export class World {
  readonly ledger = new Ledger();
  readonly draw: (below: number) => number;
  readonly tell: (progress: string) => void;
  readonly #signal: AbortSignal;
  readonly #cleanUps: (() => Promise<void>)[] = [];
  readonly #orgs: Org[] = [];
  readonly #readers: FeedReader[] = [];
  #kafka: EmbeddedKafkaCluster | undefined;
  #postgres: PostgresServer | undefined;
  #volume: SmallVolume | undefined;
  #stages: StageFleet | undefined;
  #customers: CustomerServer | undefined;
  #load: SteadyLoad | undefined;
  /** Those that the choosy endpoints subscribe to. */
  readonly #widgets = [aWidgetId()];
  readonly #topicPrefix = `f${randomBytes(4).toString('hex')}`;

  private constructor(private readonly options: WorldOptions) {
    this.draw = drawsFrom(options.seed);
    this.tell = options.tell;
    this.#signal = options.signal;
  }

  /** Starts everything, and the load last. @throws when something does not start; nothing is left then */
  static async begin(options: WorldOptions): Promise<World> {
    const world = new World(options);
    try {
      await world.#begin();
      return world;
    } catch (error) {
      await world.end();
      throw error;
    }
  }

  get kafka(): EmbeddedKafkaCluster {
    return there(this.#kafka);
  }

  get postgres(): PostgresServer {
    return there(this.#postgres);
  }

  /** Postgres' own, if the plan has one. */
  get volume(): SmallVolume {
    return there(this.#volume);
  }

  get stages(): StageFleet {
    return there(this.#stages);
  }

  get customers(): CustomerServer {
    return there(this.#customers);
  }

  get logTopic(): string {
    return `${this.#topicPrefix}.log.v1`;
  }

  /** The longest time that an endpoint or a reader of a feed got nothing new, though events were submitted. */
  get longestStallMs(): number {
    return Math.max(...this.#waiting.map(({ stalls }) => stalls.longestMs));
  }

  groupOf(stage: Stage): string {
    return `${this.#topicPrefix}-${stage}`;
  }

  /** Lets time pass. @throws the reason when the fault has to end early */
  async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#signal });
  }

  /** Waits until the condition holds. */
  async until(holds: () => boolean | Promise<boolean>, what: string, withinMs = 60_000): Promise<void> {
    const deadline = performance.now() + withinMs;
    while (!(await holds())) {
      if (performance.now() > deadline) throw new Error(`${what} did not come about within ${withinMs / 1_000} s`);
      await this.pause(POLL_MS);
    }
  }

  /** Waits until so many more events have been pushed: the whole way through is open. */
  async untilFlowing(events = 30): Promise<void> {
    const before = this.customers.arrived;
    await this.until(() => this.customers.arrived >= before + events, 'a flow of events');
  }

  /** Ends the load and waits until nothing moves any more. @returns what is not where it belongs by then, in words */
  async settle(): Promise<readonly string[]> {
    await there(this.#load).finish(ACKNOWLEDGE_MS);
    const deadline = performance.now() + SETTLE_MS;
    for (;;) {
      const unsettled = await this.#unsettled().catch((error: unknown) => [String(error)]);
      if (unsettled.length === 0 || performance.now() > deadline) return unsettled;
      await this.pause(POLL_MS);
    }
  }

  /** The log as any Kafka client reads it. */
  async readLog(): Promise<readonly LogRecord[]> {
    const records = await readTopic(this.kafka.brokers, this.logTopic);
    return records.map(({ key, value, headers }) => ({
      orgId: key,
      seq: Number(headers['seq']),
      id: headers['ce_id'] ?? '',
      envelope: value,
    }));
  }

  /** Every org's feed as its clients read it, page by page. */
  async readFeeds(): Promise<readonly FeedPage[]> {
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

  /** Writes what the stages have logged, for whoever looks into what went wrong. */
  writeLogs(directory: string): void {
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { recursive: true });
    for (const [index, member] of (this.#stages?.members ?? []).entries()) {
      writeFileSync(join(directory, `${member.stage}-${index}.log`), `${member.log.join('\n')}\n`);
    }
  }

  /** Ends everything that was started, and removes its data. */
  async end(): Promise<void> {
    for (const cleanUp of this.#cleanUps.splice(0).reverse()) {
      // What cannot be ended must not keep the rest alive.
      await cleanUp().catch((error: unknown) => {
        this.tell(`cleaning up: ${String(error)}`);
      });
    }
  }

  async #begin(): Promise<void> {
    const { tell, options } = this;
    tell('starting Kafka and Postgres');
    await this.#startServers();
    const environment = {
      ...anEnvironment(),
      ...SETTINGS,
      PARTITIONS: String(PARTITIONS),
      DATABASE_URL: this.postgres.url,
      KAFKA_BROKERS: this.kafka.brokers,
      TOPIC_PREFIX: this.#topicPrefix,
    };
    const serviceKey = await this.#createKeys();
    tell('starting the stages');
    const stages = await StageFleet.start(environment, options.instances ?? {});
    this.#stages = stages;
    this.#cleanUps.push(() => stages.end());
    await this.#register();
    const load = new SteadyLoad(
      {
        urls: () => stages.of('api').map(({ url }) => url),
        apiKey: serviceKey,
        orgIds: this.#orgs.map(({ orgId }) => orgId),
        widgetIds: [aWidgetId(), ...this.#widgets],
      },
      this.ledger,
      this.draw,
    );
    this.#load = load;
    for (const { apiKey } of this.#orgs) {
      const reader = new FeedReader(() => this.#client(apiKey));
      this.#readers.push(reader);
      this.#cleanUps.push(() => reader.close());
      reader.start();
    }
    this.#cleanUps.push(() => load.close());
    load.start();
    await this.untilFlowing();
    for (const { stalls } of this.#waiting) stalls.begin();
  }

  async #startServers(): Promise<void> {
    const { dataDir, brokers = 1, postgresVolumeMiB } = this.options;
    const volumeDir = join(dataDir, 'postgres');
    await stopLeftovers(dataDir);
    unmount(volumeDir);
    rmSync(dataDir, { recursive: true, force: true });
    mkdirSync(dataDir, { recursive: true });
    this.#cleanUps.push(() => {
      rmSync(dataDir, { recursive: true, force: true });
      return Promise.resolve();
    });
    if (postgresVolumeMiB !== undefined) {
      const volume = SmallVolume.mount(volumeDir, postgresVolumeMiB);
      this.#volume = volume;
      this.#cleanUps.push(() => {
        volume.unmount();
        return Promise.resolve();
      });
    }
    const jarsDir = join(ROOT, '.cache/kafka-4.3.1');
    const [kafka, postgres] = await Promise.allSettled([
      startEmbeddedKafkaCluster({ dataDir, jarsDir, nodes: brokers, signal: this.#signal, log: () => undefined }),
      PostgresServer.start(dataDir, this.#signal),
    ]);
    // Nobody needs their data any more when they are ended: killing them is quicker than an orderly stop.
    if (kafka.status === 'fulfilled') {
      this.#cleanUps.push(async () => {
        await Promise.all(kafka.value.nodes.map((node) => node.kill()));
      });
    }
    if (postgres.status === 'fulfilled') this.#cleanUps.push(() => postgres.value.kill());
    if (kafka.status === 'rejected') throw kafka.reason;
    if (postgres.status === 'rejected') throw postgres.reason;
    this.#kafka = kafka.value;
    this.#postgres = postgres.value;
  }

  /** @returns the key that the load submits with */
  async #createKeys(): Promise<string> {
    const logger = createLogger('silent', 'faults');
    const store = new Store({
      databaseUrl: this.postgres.url,
      applicationName: 'faults',
      logger,
      migratesWhenOpened: true,
    });
    await store.open(() => undefined, this.#signal);
    try {
      for (let partition = 0; partition < PARTITIONS; partition++) {
        const orgId = anOrgOn(partition, PARTITIONS);
        this.#orgs.push({ orgId, apiKey: await anApiKey(store, orgId), endpoints: [] });
      }
      return await anApiKey(store, null);
    } finally {
      await store.close();
    }
  }

  /** Each org has an endpoint that takes everything, and one that is choosy and now and then wants an event again. */
  async #register(): Promise<void> {
    const customers = await CustomerServer.start();
    this.#customers = customers;
    this.#cleanUps.push(() => customers.close());
    for (const [index, { orgId, apiKey, endpoints }] of this.#orgs.entries()) {
      const everything = { orgId, events: ['ticket.created', 'ticket.updated'], widgetIds: null };
      const some = { orgId, events: ['ticket.updated'], widgetIds: this.#widgets };
      for (const customer of [
        new CustomerEndpoint(`endpoint ${index}a`, everything, 0),
        new CustomerEndpoint(`endpoint ${index}b`, some, 5),
      ]) {
        const { events, widgetIds } = customer.subscription;
        const url = customers.add(customer);
        const webhook = await this.#client(apiKey).createWebhook({ url, events, widget_ids: widgetIds });
        customer.secret = webhook.secret;
        endpoints.push({ id: webhook.id, customer });
      }
    }
  }

  async #unsettled(): Promise<readonly string[]> {
    const unsettled: string[] = [];
    const pages = await this.readFeeds();
    const inFeed = new Set(
      pages.flatMap(({ text }) => (JSON.parse(text) as { data: { id: string }[] }).data.map(({ id }) => id)),
    );
    const missing = [...this.ledger.acknowledged].filter((id) => !inFeed.has(id)).length;
    if (missing > 0) unsettled.push(`${missing} acknowledged events are not in the feed`);
    const events = [...this.ledger.submitted.values()].filter(({ id }) => inFeed.has(id));
    for (const { apiKey, endpoints } of this.#orgs) {
      for (const { id, customer } of endpoints) {
        const due = events.filter((event) => isFor(customer.subscription, event)).length;
        const path = `/external/webhooks/${id}`;
        const { text } = await this.#client(apiKey).request('GET', path);
        const { data } = JSON.parse(text) as { data: { health: { pending: number; delivered_24h: number } } };
        const { pending, delivered_24h: delivered } = data.health;
        if (pending > 0 || delivered !== due || customer.arrivals.size !== due) {
          unsettled.push(
            `${customer.name} got ${customer.arrivals.size} of ${due} events; ` +
              `its delivery log has ${delivered} delivered and ${pending} pending`,
          );
        }
      }
    }
    return unsettled;
  }

  /** Whoever waits for every event: to the others, events come seldom anyway. */
  get #waiting(): readonly { readonly stalls: StallWatch }[] {
    const endpoints = this.customers.endpoints.filter(({ subscription }) => subscription.widgetIds === null);
    return [...endpoints, ...this.#readers];
  }

  #client(apiKey: string): ApiClient {
    return new ApiClient(this.stages.of('api')[0]?.url ?? '', apiKey);
  }
}

function there<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('this world has no such part');
  return part;
}
