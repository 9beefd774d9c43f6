import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { textKeptIn } from '#libs/runtime';
import { quietPort, rememberedPort, rememberPort } from '../servers/free-port.js';
import { newKafkaClusterId } from './kafka-cluster-id.js';
import { KAFKA_STOP_STEPS, runKafkaNode, type KafkaMembership } from './kafka-node.js';
import type { RunningServer } from '../servers/run-server.js';
import { freeClaim } from '../servers/server-claim.js';

/** One node of a cluster, both broker and controller. It keeps its address and its records while it is stopped. */
export interface EmbeddedKafkaNode {
  /** The node's id, from 1. */
  readonly id: number;
  /** `127.0.0.1:<port>`. */
  readonly broker: string;
  readonly isRunning: boolean;
  /** The pid of the node's process; `undefined` while it does not run. */
  readonly pid: number | undefined;
  /** Kills the node by SIGKILL, like a crash; resolves once it is gone. */
  kill(): Promise<void>;
  /** Stops the node in order. */
  stop(): Promise<void>;
  /** Starts the node again. Resolves once the cluster has admitted it; its replicas may still have to catch up. */
  start(): Promise<void>;
  /** Freezes the node: its connections stay open, but it does not answer. */
  pause(): void;
  resume(): void;
}

export interface EmbeddedKafkaCluster {
  /** `127.0.0.1:<port>` of every node, comma-separated. */
  readonly brokers: string;
  readonly nodes: readonly EmbeddedKafkaNode[];
  /** Stops all nodes, by force after 6 s. You can call it repeatedly. */
  stop(): Promise<void>;
}

/** The name of a node's directory, which ends in the node's id. */
const NODE_DIRECTORY = /^kafka-\d+$/;

/** Returns the node directories that a cluster has left under `dataDir`. */
export function nodeDirectories(dataDir: string): readonly string[] {
  if (!existsSync(dataDir)) return [];
  return readdirSync(dataDir)
    .filter((name) => NODE_DIRECTORY.test(name))
    .map((name) => join(dataDir, name));
}

class Node implements EmbeddedKafkaNode {
  #running: RunningServer | undefined;
  #starting: Promise<void> | undefined;

  constructor(
    readonly id: number,
    private readonly port: number,
    private readonly launch: () => Promise<RunningServer>,
    private readonly onDied: (node: EmbeddedKafkaNode, reason: Error) => void,
  ) {}

  get broker(): string {
    return `127.0.0.1:${this.port}`;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  get pid(): number | undefined {
    return this.#running?.pid;
  }

  async kill(): Promise<void> {
    await this.#end((server) => server.kill());
  }

  async stop(): Promise<void> {
    await this.#end((server) => server.stop());
  }

  async start(): Promise<void> {
    this.#starting ??= this.#start();
    try {
      await this.#starting;
    } finally {
      this.#starting = undefined;
    }
  }

  pause(): void {
    this.#running?.pause();
  }

  resume(): void {
    this.#running?.resume();
  }

  async #start(): Promise<void> {
    if (this.#running !== undefined) return;
    const server = await this.launch();
    if (server.port !== this.port) {
      await server.stop();
      throw new Error(`another program took the port of Kafka's node ${this.id} (${this.broker}) while it was down`);
    }
    this.#running = server;
    void server.died.then(async (reason) => {
      // Releases the directory, so that the node can be started again.
      await server.stop();
      if (this.#running === server) this.#running = undefined;
      this.onDied(this, reason);
    });
  }

  async #end(how: (server: RunningServer) => Promise<void>): Promise<void> {
    await this.#starting?.catch(() => undefined);
    const server = this.#running;
    this.#running = undefined;
    if (server !== undefined) await how(server);
  }
}

/**
 * Runs a Kafka cluster under `<dataDir>/kafka-1` … `kafka-<nodes>`, on loopback. Each node keeps its port. With three
 * nodes or more, records have three replicas, and a write needs two of them. `nodes: 1` makes a broker that can be
 * killed and started again. It first stops nodes that a killed Gapless left behind.
 *
 * A node flushes when the operating system does. Acknowledged records survive a crash of the node, but not a crash of
 * the machine.
 * @throws DataDirInUseError when another running Gapless uses the directory
 * @throws Error with the end of a node's log when it does not start; the signal's reason when aborted. Nothing runs
 *   then.
 */
export async function startEmbeddedKafkaCluster(o: {
  readonly dataDir: string;
  readonly nodes: number;
  /** The largest heap of each node, MiB (default 512). */
  readonly heapMiB?: number;
  readonly log: (line: string) => void;
  readonly signal?: AbortSignal;
  /** Called for each node that ends unexpectedly. You can start the node again. */
  readonly onNodeDied?: (node: EmbeddedKafkaNode, reason: Error) => void;
}): Promise<EmbeddedKafkaCluster> {
  const dataDir = resolve(o.dataDir);
  mkdirSync(dataDir, { recursive: true });
  await clearNodes(dataDir, o.log);
  const clusterId = textKeptIn(join(dataDir, 'kafka-cluster.id'), newKafkaClusterId);
  const plans = await planNodes(dataDir, o.nodes);
  const peers = plans.map(({ nodeId, controllerPort }) => ({ nodeId, controllerPort }));
  const failed = new AbortController();
  const starting = o.signal === undefined ? failed.signal : AbortSignal.any([o.signal, failed.signal]);
  let isUp = false;
  const onDied = o.onNodeDied ?? (() => undefined);

  const nodes = plans.map(({ nodeId, controllerPort, port, directory }) => {
    const membership: KafkaMembership = { node: { nodeId, controllerPort }, peers, clusterId };
    const launch = () =>
      runKafkaNode({
        dataDir: directory,
        log: o.log,
        // The signal of the cluster's start does not apply to later starts of a node.
        signal: isUp ? o.signal : starting,
        port,
        ...(o.heapMiB !== undefined && { heapMiB: o.heapMiB }),
        membership: () => Promise.resolve(membership),
      });
    return new Node(nodeId, port, launch, onDied);
  });

  // Start them together: the cluster admits no node before a majority runs.
  const outcomes = await Promise.allSettled(
    nodes.map((node) =>
      node.start().catch((error: unknown) => {
        failed.abort(error);
        throw error;
      }),
    ),
  );
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.stop()));
  };
  if (outcomes.some(({ status }) => status === 'rejected')) {
    await stop();
    throw starting.reason;
  }
  isUp = true;
  return { brokers: nodes.map(({ broker }) => broker).join(','), nodes, stop };
}

/**
 * Stops the nodes of a killed Gapless, so that their ports are free again.
 * @throws DataDirInUseError before anything is written, such as a port that the nodes of a running Gapless need again
 */
async function clearNodes(dataDir: string, log: (line: string) => void): Promise<void> {
  await Promise.all(
    nodeDirectories(dataDir).map((directory) =>
      freeClaim({ name: 'Kafka', pidFile: join(directory, 'kafka.pid'), dataDir, stopSteps: KAFKA_STOP_STEPS, log }),
    ),
  );
}

interface NodePlan {
  readonly nodeId: number;
  readonly directory: string;
  readonly port: number;
  readonly controllerPort: number;
}

/** Plans each node's port: the last run's port if it is free, so that clients keep their addresses. */
async function planNodes(dataDir: string, count: number): Promise<readonly NodePlan[]> {
  const taken = new Set<number>();
  const portFor = async (file: string): Promise<number> => {
    const port = await quietPort(rememberedPort(file), taken);
    taken.add(port);
    rememberPort(file, port);
    return port;
  };
  const plans: NodePlan[] = [];
  for (let nodeId = 1; nodeId <= count; nodeId++) {
    const directory = join(dataDir, `kafka-${nodeId}`);
    mkdirSync(directory, { recursive: true });
    const port = await portFor(join(directory, 'kafka.port'));
    const controllerPort = await portFor(join(directory, 'controller.port'));
    plans.push({ nodeId, directory, port, controllerPort });
  }
  return plans;
}
