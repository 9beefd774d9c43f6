import { mkdirSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Environment } from '#libs/runtime';
import { Cluster } from '../../../apps/cluster/src/cluster.js';
import { eventJson } from '../../bench/traffic/event-bodies.js';
import { drawsFrom } from '../../support/sequence.js';
import { prove, type Proof } from '../prove.js';
import type { LoadPlan } from '../steady-load.js';
import { Traffic } from '../traffic.js';
import { phaseFigures, type Phase, type PhaseFigures } from './phases.js';

export interface DemoPlan {
  readonly eventsPerSecond: number;
  /** How long there is load; the set is away for the second third of it. */
  readonly forMs: number;
  /** The number of the set that goes. */
  readonly set: number;
  /** In order, or as in a crash. */
  readonly how: 'stop' | 'kill';
}

export interface DemoOptions {
  /** Taken for this run alone, and removed at its end. */
  readonly dataDir: string;
  readonly seed: number;
  /** Aborted when the run has to end early. */
  readonly signal: AbortSignal;
  readonly print: (progress: string) => void;
}

export interface DemoResult {
  readonly proof: Proof;
  readonly phases: readonly PhaseFigures[];
}

const PARTITIONS = 4;
const SETTINGS = {
  PARTITIONS: String(PARTITIONS),
  // Endpoints that refuse an event at first are asked again soon, and nobody waits for that.
  RETRY_SCHEDULE: '1s,1s,2s,2s,5s,5s,5s,5s',
  AUTO_DISABLE_AFTER: '1000000',
  RATE_LIMIT: '100000/s',
  RATE_LIMIT_BYTES: '1GiB/s',
  RATE_LIMIT_CHANGES: '100000/s',
  LOG_LEVEL: 'warn',
};
/** Of the caller's environment: what it takes to run programs, and nothing that configures Gapless. */
const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'JAVA_HOME', 'JAVA_TOOL_OPTIONS', 'LANG', 'TZ'];

/** The benchmarks' events, each in a request of its own. */
function benchLoad(eventsPerSecond: number): LoadPlan {
  const { data } = JSON.parse(eventJson({ event: 'ticket.created' })) as { data: unknown };
  const dataJson = JSON.stringify(data);
  return { requestEveryMs: 1_000 / eventsPerSecond, eventsPerRequest: 1, dataJson: () => dataJson };
}

/** Puts load on a cluster of its own, takes a whole set away and brings it back, and proves what became of every event. */
export async function runDemo(plan: DemoPlan, options: DemoOptions): Promise<DemoResult> {
  const { dataDir, signal, print } = options;
  mkdirSync(dataDir, { recursive: true });
  try {
    print('starting three brokers, Postgres and two sets of stages');
    const cluster = await Cluster.start({
      dataDir,
      environment: demoEnvironment(),
      basePort: 0,
      signal,
      print,
    });
    try {
      return await tryOut(cluster, plan, options);
    } finally {
      await cluster.stop();
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function demoEnvironment(): Environment {
  return { ...Object.fromEntries(INHERITED.map((name) => [name, process.env[name]] as const)), ...SETTINGS };
}

async function tryOut(cluster: Cluster, plan: DemoPlan, { seed, signal, print }: DemoOptions): Promise<DemoResult> {
  const { sets, credentials } = cluster;
  const set = sets.find(({ number }) => number === plan.set);
  if (set === undefined) throw new Error(`there is no set ${plan.set}; there are 1 to ${sets.length}`);
  const traffic = await Traffic.prepare(
    {
      brokers: credentials.kafka_brokers,
      databaseUrl: credentials.database_url,
      logTopic: 'gapless.log.v1',
      staffAlertsTopic: 'gapless.staff-alerts.v1',
      partitions: PARTITIONS,
      // As a load balancer chooses, which asks for readiness.
      apiUrls: () => sets.filter(({ answers }) => answers).map(({ apiUrl }) => apiUrl),
    },
    { draw: drawsFrom(seed), signal, load: benchLoad(plan.eventsPerSecond) },
  );
  try {
    await traffic.start();
    const phases: Phase[] = [];
    const phase = async (name: string): Promise<void> => {
      print(name);
      const from = performance.now();
      await delay(plan.forMs / 3, undefined, { signal });
      phases.push({ name, from, to: performance.now() });
    };
    await phase('both sets');
    const leaving = set[plan.how]();
    await phase(`set ${plan.set} ${plan.how === 'stop' ? 'stopped' : 'killed'}`);
    await leaving;
    set.start();
    await phase(`set ${plan.set} started again`);
    await set.ready(signal);
    const proof = await prove(traffic, print);
    const { ledger, customers } = traffic;
    return { proof, phases: phases.map((one) => phaseFigures(one, ledger, customers.endpoints)) };
  } finally {
    await traffic.close();
  }
}
