import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startEmbeddedKafkaCluster, stopLeftovers, type EmbeddedKafkaCluster } from '#libs/embedded-stack';
import { STAGE_NAMES, type StageName } from '#libs/runtime';
import { anEnvironment } from '../support/environment.js';
import { drawsFrom } from '../support/sequence.js';
import { BrokerFiles } from './broker-files.js';
import { BrokerWay, type WayState } from './broker-way.js';
import { PostgresServer } from './postgres-server.js';
import { SmallVolume, unmountVolumes } from './small-volume.js';
import { StageFleet } from './stage-fleet.js';
import { Standalone } from './standalone.js';
import { Traffic, until, type TrafficTarget } from './traffic.js';

/** What a fault is done to. */
export interface WorldPlan {
  /** Kafka nodes (default 1). */
  readonly brokers?: number;
  /** Processes of each stage (default 1). */
  readonly instances?: Partial<Readonly<Record<StageName, number>>>;
  /** Puts the data of a server on a volume of this size, which can be filled up. */
  readonly volume?: { readonly server: 'postgres' | 'kafka'; readonly mebibytes: number };
  /** Leads every stage to the first broker by a way of its own, which can be cut. */
  readonly waysToFirstBroker?: true;
  /** Organizations that nobody else submits to, one for each name; they have no endpoint. */
  readonly quietOrgs?: number;
  /** How long everything may take to settle after the load. */
  readonly settleMs?: number;
  /** Everything is one process with embedded servers, as `npm start` runs it: this world has no other parts. */
  readonly isStandalone?: true;
  /** Beside those that every world has. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface WorldOptions extends WorldPlan {
  /** Taken for this world alone, and removed when it ends. */
  readonly dataDir: string;
  readonly seed: number;
  /** Aborted when the fault has to end early. */
  readonly signal: AbortSignal;
  readonly print: (progress: string) => void;
}

/** Each has an org of its own, so that every process with a partition has something to do. */
const PARTITIONS = 3;
/** Short, so that a retry is no reason to wait. */
const SETTINGS = {
  RETRY_SCHEDULE: '1s,1s,2s,2s,5s,5s,5s,5s',
  AUTO_DISABLE_AFTER: '1000000',
  DELIVERY_TIMEOUT: '5s',
  SWEEP_INTERVAL: '1s',
};

/** A Gapless of processes of its own, its servers, its customers, and a load: what a fault strikes, and what proves it. */
export class World {
  readonly draw: (below: number) => number;
  readonly print: (progress: string) => void;
  readonly #signal: AbortSignal;
  readonly #cleanUps: (() => Promise<void>)[] = [];
  #kafka: EmbeddedKafkaCluster | undefined;
  #postgres: PostgresServer | undefined;
  #volume: SmallVolume | undefined;
  #stages: StageFleet | undefined;
  #traffic: Traffic | undefined;
  #standalone: Standalone | undefined;
  #environment: Readonly<Record<string, string>> | undefined;
  readonly #ways = new Map<StageName, BrokerWay>();
  /** What a fault has found to be wrong by itself, in words. */
  readonly problems: string[] = [];
  readonly #topicPrefix = `f${randomBytes(4).toString('hex')}`;

  /** Nothing runs yet. */
  constructor(private readonly options: WorldOptions) {
    this.draw = drawsFrom(options.seed);
    this.print = options.print;
    this.#signal = options.signal;
  }

  get kafka(): EmbeddedKafkaCluster {
    return there(this.#kafka);
  }

  get postgres(): PostgresServer {
    return there(this.#postgres);
  }

  /** The server's own, if the plan has one. */
  get volume(): SmallVolume {
    return there(this.#volume);
  }

  get stages(): StageFleet {
    return there(this.#stages);
  }

  /** All of it, if the plan says that it is one process. */
  get standalone(): Standalone {
    return there(this.#standalone);
  }

  /** What it carries, and what proves that nothing of it was lost. */
  get traffic(): Traffic {
    return there(this.#traffic);
  }

  /** What happens between the stages (all, unless said) and the first broker from now on. */
  setWays(state: WayState, stages: readonly StageName[] = STAGE_NAMES): void {
    for (const stage of stages) there(this.#ways.get(stage)).set(state);
  }

  get logTopic(): string {
    return this.topicNamed('log');
  }

  /** A topic by its role. */
  topicNamed(role: string): string {
    return `${this.#topicPrefix}.${role}.v1`;
  }

  /** The settings of its processes, for commands that operators run beside them. */
  get environment(): Readonly<Record<string, string>> {
    return there(this.#environment);
  }

  /** Of the first broker. */
  get brokerFiles(): BrokerFiles {
    return new BrokerFiles(join(this.options.dataDir, 'kafka-1/kafka'));
  }

  /** A consumer group by its name in the list of stages. */
  groupNamed(group: string): string {
    return `${this.#topicPrefix}-${group}`;
  }

  /** Lets time pass. @throws the reason when the fault has to end early */
  async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#signal });
  }

  /** Waits until the condition holds. */
  async until(holds: () => boolean | Promise<boolean>, what: string, withinMs = 60_000): Promise<void> {
    await until(holds, { what, withinMs, signal: this.#signal });
  }

  /** Writes what the stages have logged, for anyone who looks into what went wrong. */
  writeLogs(directory: string): void {
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { recursive: true });
    for (const [index, member] of (this.#stages?.members ?? []).entries()) {
      writeFileSync(join(directory, `${member.stage}-${index}.log`), `${member.log.join('\n')}\n`);
    }
    if (this.#standalone !== undefined) writeFileSync(join(directory, 'standalone.log'), this.#standalone.output);
  }

  /** Ends everything that was started, and removes its data. */
  async end(): Promise<void> {
    for (const cleanUp of this.#cleanUps.splice(0).reverse()) {
      // What cannot be ended must not keep the rest alive.
      await cleanUp().catch((error: unknown) => {
        this.print(`cleaning up: ${String(error)}`);
      });
    }
  }

  /** Starts everything, and the load last. What was started before an error is there until `end`. */
  async begin(): Promise<void> {
    const { options } = this;
    await stopLeftovers(options.dataDir);
    this.#takeDataDir();
    const target = options.isStandalone === true ? await this.#startStandalone() : await this.#startApart();
    const traffic = await Traffic.prepare(target, {
      draw: this.draw,
      signal: this.#signal,
      quietOrgs: options.quietOrgs ?? 0,
      hasOrderedEndpoints: true,
      ...(options.settleMs !== undefined && { settleMs: options.settleMs }),
    });
    this.#traffic = traffic;
    this.#cleanUps.push(() => traffic.close());
    await traffic.start();
  }

  /** Servers and stages, each a process of its own. */
  async #startApart(): Promise<TrafficTarget> {
    this.print('starting Kafka and Postgres');
    await this.#startServers();
    const environment = {
      ...this.#settings,
      DATABASE_URL: this.postgres.url,
      KAFKA_BROKERS: this.kafka.brokers,
      TOPIC_PREFIX: this.#topicPrefix,
    };
    this.#environment = environment;
    this.print('starting the stages');
    const routes = await this.#openWays();
    const { instances = {} } = this.options;
    const stages = await StageFleet.start((stage) => ({ ...environment, ...routes(stage) }), instances);
    this.#stages = stages;
    this.#cleanUps.push(() => stages.end());
    await stages.ready();
    return {
      brokers: this.kafka.brokers,
      databaseUrl: this.postgres.url,
      logTopic: this.logTopic,
      staffAlertsTopic: this.topicNamed('staff-alerts'),
      partitions: PARTITIONS,
      apiUrls: () => stages.of('api').map(({ url }) => url),
    };
  }

  async #startStandalone(): Promise<TrafficTarget> {
    this.print('starting Gapless as one process');
    const environment = { ...this.#settings, TOPIC_PREFIX: this.#topicPrefix };
    const standalone = new Standalone(join(this.options.dataDir, 'standalone'), environment, this.#signal);
    this.#standalone = standalone;
    this.#cleanUps.push(() => standalone.end());
    await standalone.start();
    const { credentials } = standalone;
    return {
      brokers: credentials.kafka_brokers,
      databaseUrl: credentials.database_url,
      logTopic: this.logTopic,
      staffAlertsTopic: this.topicNamed('staff-alerts'),
      partitions: PARTITIONS,
      apiUrls: () => [standalone.credentials.base_url],
    };
  }

  get #settings(): Readonly<Record<string, string>> {
    return { ...anEnvironment(), ...SETTINGS, PARTITIONS: String(PARTITIONS), ...this.options.settings };
  }

  #takeDataDir(): void {
    const { dataDir } = this.options;
    unmountVolumes(dataDir);
    rmSync(dataDir, { recursive: true, force: true });
    mkdirSync(dataDir, { recursive: true });
    this.#cleanUps.push(() => {
      rmSync(dataDir, { recursive: true, force: true });
      return Promise.resolve();
    });
  }

  /** @returns the settings that give a stage its way to the first broker */
  async #openWays(): Promise<(stage: StageName) => Readonly<Record<string, string>>> {
    const [broker] = this.kafka.nodes;
    if (this.options.waysToFirstBroker !== true || broker === undefined) return () => ({});
    for (const stage of STAGE_NAMES) {
      const way = await BrokerWay.to(broker.broker);
      this.#ways.set(stage, way);
      this.#cleanUps.push(() => way.close());
    }
    const port = broker.broker.split(':')[1] ?? '';
    return (stage) => ({ FAULT_ROUTES: JSON.stringify({ [port]: this.#ways.get(stage)?.port }) });
  }

  async #startServers(): Promise<void> {
    const { dataDir, brokers = 1, volume: volumePlan } = this.options;
    if (volumePlan !== undefined) {
      const volume = SmallVolume.of(volumePlan.server, dataDir, volumePlan.mebibytes);
      this.#volume = volume;
      this.#cleanUps.push(() => {
        volume.unmount();
        return Promise.resolve();
      });
    }
    const [kafka, postgres] = await Promise.allSettled([
      startEmbeddedKafkaCluster({ dataDir, nodes: brokers, signal: this.#signal, log: () => undefined }),
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
}

function there<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('this world has no such part');
  return part;
}
