import { setMaxListeners } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  forgetMembers,
  startEmbeddedKafkaCluster,
  startEmbeddedPostgres,
  type EmbeddedKafkaCluster,
  type EmbeddedKafkaNode,
  type EmbeddedPostgres,
} from '#libs/embedded-stack';
import { Store } from '#libs/postgres';
import { fitOwnTopics, STAGE_NODE_OPTIONS, writeCredentials, type Credentials } from '#libs/local-installation';
import { createLogger, STAGE_NAMES, untilItWorks, type Environment, type StageName } from '#libs/runtime';
import { stageEnvironment } from './stage-environment.js';
import { findPorts } from './stage-ports.js';
import { StageSet } from './stage-set.js';
import type { StatusRow } from './status-table.js';
import { SupervisedProcess } from './supervised-process.js';

const BROKERS = 3;
const SETS = 2;
/** The heap of each of the three brokers. A developer's machine sends little. */
const BROKER_HEAP_MIB = 256;
const APPS = resolve(import.meta.dirname, '../..');
const END_WITH_SUPERVISOR = pathToFileURL(join(import.meta.dirname, 'end-with-supervisor.js')).href;

export interface ClusterOptions {
  /** The folder of the servers' data, the logs and `credentials.json`. */
  readonly dataDir: string;
  /** The settings of the stages. Those of servers, the address and the port are replaced. */
  readonly environment: Environment;
  /** The port of the first api; 0 takes free ports for all processes. */
  readonly basePort: number;
  readonly signal: AbortSignal;
  /** Called with a line for each thing that happens. */
  readonly print: (line: string) => void;
}

/**
 * A Gapless as in production, on one machine. It has three Kafka brokers with three copies of each record, one
 * Postgres, and two full sets of stages. Each stage is a process of its own. Everything listens on loopback.
 */
export class Cluster {
  /** Settles when the only Postgres ends by itself. */
  readonly died: Promise<Error>;

  private constructor(
    readonly kafka: EmbeddedKafkaCluster,
    private readonly postgres: EmbeddedPostgres,
    readonly sets: readonly StageSet[],
    readonly credentials: Credentials,
  ) {
    this.died = postgres.died;
  }

  /**
   * Starts everything and waits until all of it is ready. If this throws, nothing is left running.
   * @throws DataDirInUseError, the error of a server, the reason why Postgres ended, or the signal's reason
   */
  static async start(options: ClusterOptions): Promise<Cluster> {
    const { print } = options;
    // Many parts listen to the signals.
    setMaxListeners(0, options.signal);
    const dataDir = resolve(options.dataDir);
    const logsDir = join(dataDir, 'logs');
    const { kafka, postgres } = await startServers({ ...options, dataDir });
    const lost = new AbortController();
    // Without Postgres, the start would never end.
    void postgres.died.then((reason) => {
      lost.abort(reason);
    });
    const signal = AbortSignal.any([options.signal, lost.signal]);
    setMaxListeners(0, signal);
    const sets: StageSet[] = [];
    try {
      // Removes the logs of the last run. The servers run, so no other cluster writes into them.
      rmSync(logsDir, { recursive: true, force: true });
      mkdirSync(logsDir, { recursive: true });
      const own = { brokers: kafka.brokers, databaseUrl: postgres.url };
      const environment = await stageEnvironment(options.environment, dataDir, own);
      const taken = new Set<number>();
      for (let set = 1; set <= SETS; set++) {
        const ports = await findPorts(options.basePort, set, taken);
        sets.push(stageSet(set, { ports, environment, logsDir, print }));
      }
      const credentials = await migrateAndWriteCredentials(dataDir, signal, {
        base_url: sets[0]?.apiUrl ?? '',
        kafka_brokers: kafka.brokers,
        database_url: postgres.url,
      });
      print(`starting ${SETS * STAGE_NAMES.length} processes; their logs are in ${logsDir}`);
      await fitOwnTopics(environment, { print, signal });
      for (const set of sets) set.start();
      await Promise.all(sets.map((set) => set.ready(signal)));
      return new Cluster(kafka, postgres, sets, credentials);
    } catch (error) {
      await endAll(sets, kafka, postgres);
      throw lost.signal.aborted ? lost.signal.reason : error;
    }
  }

  /** The present state of every process and server. */
  get status(): readonly StatusRow[] {
    const processes = this.sets.flatMap(({ number, members }) =>
      members.map(({ stage, port, process }) => ({
        name: stage,
        set: String(number),
        pid: process.pid,
        address: `http://127.0.0.1:${port}`,
        state: process.state,
      })),
    );
    const brokers = this.kafka.nodes.map(({ id, broker, pid, isRunning }) => ({
      name: `kafka broker ${id}`,
      set: '',
      pid,
      address: broker,
      state: isRunning ? 'ready' : 'away',
    }));
    const { host } = new URL(this.postgres.url);
    const postgres = { name: 'postgres', set: '', pid: this.postgres.pid, address: host, state: 'ready' };
    return [...processes, ...brokers, postgres];
  }

  /** Stops the stages in order, then their servers. */
  async stop(): Promise<void> {
    await endAll(this.sets, this.kafka, this.postgres);
  }
}

async function endAll(
  sets: readonly StageSet[],
  kafka: EmbeddedKafkaCluster,
  postgres: EmbeddedPostgres,
): Promise<void> {
  await Promise.all(sets.map((set) => set.stop()));
  await Promise.all([kafka.stop(), postgres.stop()]);
}

async function startServers({ dataDir, signal: interrupted, print }: ClusterOptions) {
  const failed = new AbortController();
  const signal = AbortSignal.any([interrupted, failed.signal]);
  const endOther = (error: unknown): never => {
    failed.abort(error);
    throw error;
  };
  const onNodeDied = (node: EmbeddedKafkaNode, reason: Error) => {
    void startAgain(node, reason, interrupted, print);
  };
  const [kafka, postgres] = await Promise.allSettled([
    startEmbeddedKafkaCluster({
      dataDir,
      nodes: BROKERS,
      heapMiB: BROKER_HEAP_MIB,
      log: print,
      signal,
      onNodeDied,
    }).catch(endOther),
    startEmbeddedPostgres({ dataDir, log: print, signal }).catch(endOther),
  ]);
  if (kafka.status === 'fulfilled' && postgres.status === 'fulfilled') {
    await forgetTheDead(kafka.value.brokers, signal, print);
    return { kafka: kafka.value, postgres: postgres.value };
  }
  if (kafka.status === 'fulfilled') await kafka.value.stop();
  if (postgres.status === 'fulfilled') await postgres.value.stop();
  throw signal.reason;
}

/** Removes the group members of a killed cluster, which its brokers still wait for after a restart. */
async function forgetTheDead(brokers: string, signal: AbortSignal, print: (line: string) => void): Promise<void> {
  try {
    await forgetMembers({ brokers, signal });
  } catch (error) {
    print(`Kafka may wait for group members that no longer exist: ${String(error)}`);
  }
}

/** Restarts a broker that ended by itself, with back-off. */
async function startAgain(
  node: EmbeddedKafkaNode,
  reason: Error,
  signal: AbortSignal,
  print: (line: string) => void,
): Promise<void> {
  print(`kafka broker ${node.id} has stopped and starts again: ${reason.message.split('\n')[0] ?? ''}`);
  const start = () => node.start();
  const onFailure = (error: unknown) => {
    signal.throwIfAborted();
    print(`kafka broker ${node.id} does not start: ${String(error)}`);
  };
  // Stopping the cluster also ends these attempts.
  await untilItWorks(start, { signal, onFailure }).catch(() => undefined);
}

async function migrateAndWriteCredentials(
  dataDir: string,
  signal: AbortSignal,
  reachable: Pick<Credentials, 'base_url' | 'kafka_brokers' | 'database_url'>,
): Promise<Credentials> {
  const store = new Store({
    databaseUrl: reachable.database_url,
    applicationName: 'gapless-cluster',
    logger: createLogger('silent', 'cluster'),
    migratesWhenOpened: true,
  });
  await store.open(() => undefined, signal);
  try {
    return await writeCredentials(dataDir, store, reachable);
  } finally {
    await store.close();
  }
}

function stageSet(
  number: number,
  o: {
    readonly ports: Readonly<Record<StageName, number>>;
    readonly environment: Environment;
    readonly logsDir: string;
    readonly print: (line: string) => void;
  },
): StageSet {
  const members = STAGE_NAMES.map((stage) => {
    const port = o.ports[stage];
    const process = new SupervisedProcess({
      name: `${stage} of set ${number}`,
      args: [...STAGE_NODE_OPTIONS, '--import', END_WITH_SUPERVISOR, join(APPS, stage, 'src/main.js')],
      env: { ...o.environment, PORT: String(port) },
      logFile: join(o.logsDir, `${stage}-${number}.log`),
      healthUrl: `http://127.0.0.1:${port}/health/ready`,
      print: o.print,
    });
    return { stage, port, process };
  });
  return new StageSet(number, members);
}
