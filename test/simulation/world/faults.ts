import { CALM, type Network, type Weather } from '../engine/network.js';
import type { Random } from '../engine/random.js';
import type { Trace } from '../engine/trace.js';
import { Actor, EPOCH_MS, type VirtualTime } from '../engine/virtual-time.js';
import type { Broker } from '../kafka/broker.js';
import type { KeptRecord, PartitionLog } from '../kafka/partition-log.js';
import { offsetKey } from '../postgres/offset-rows.js';
import type { Postgres } from '../postgres/postgres.js';
import type { Ledger } from './ledger.js';
import type { Operator } from './operator.js';
import type { SimulatedProcess, StageName } from './simulated-process.js';

export interface FaultTargets {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly trace: Trace;
  readonly network: Network;
  readonly broker: Broker;
  readonly postgres: Postgres;
  readonly processes: () => readonly SimulatedProcess[];
  /** Starts a process with these stages. */
  readonly startProcess: (stages: readonly StageName[]) => void;
  readonly groupIds: readonly string[];
  /** Groups that read the log. */
  readonly router: string;
  readonly feedProjector: string;
  /** `null` if no chats wait. */
  readonly alerting: string | null;
  readonly operators: readonly Operator[];
  readonly ledger: Ledger;
  /** Whether nothing else goes wrong in the history. */
  readonly isAlone: boolean;
  readonly inboxTopic: string;
  readonly logTopic: string;
  readonly sequencesTopic: string;
}

/** What goes wrong, once. */
type Fault = (targets: FaultTargets, later: Later) => void;

type Later = (delayMs: number, act: () => void) => void;

const REQUEST_KINDS = [
  'produce',
  'fetch',
  'heartbeat',
  'commit',
  'join',
  'places',
  'admin',
  'sql',
  'push',
  'http',
  'start',
  'connect',
] as const;

function someProcess({ processes, random }: FaultTargets): SimulatedProcess | undefined {
  const running = processes();
  return running.length === 0 ? undefined : random.pick(running);
}

function storm(kinds: readonly string[], weather: Weather, { network, trace }: FaultTargets): void {
  trace.note(`the network is bad for ${kinds.join(', ')}: ${JSON.stringify(weather)}`);
  for (const kind of kinds) network.weather.set(kind, weather);
}

/** How soon a record is in the feed while nothing is in its way. */
const PROMPT_MS = 3_000;

/** Records that are younger than this may be under way in a look-up that has not come back. */
const UNDER_WAY_MS = 3_000;

function projectedTo({ postgres, logTopic }: Pick<FaultTargets, 'postgres' | 'logTopic'>, partition: number): number {
  return postgres.tables.offsets.get(offsetKey('feed', logTopic, partition))?.next_offset ?? 0;
}

/** The broker comes back with a partition that lacks its latest records. Once in a history: the loss has to stay known. */
function goBack(
  targets: FaultTargets,
  topic: string,
  later: Later,
  lose: (log: PartitionLog) => readonly KeptRecord[],
): void {
  const { random, trace, broker, ledger, processes } = targets;
  if (ledger.wentBack.size > 0 || !broker.isUp) return;
  const log = random.pick(broker.partitionsOf(topic));
  const projected = projectedTo(targets, log.partition);
  broker.crash();
  const removed = lose(log);
  ledger.wentBack.set(`${topic}/${log.partition}`, { removed, end: log.end, projected });
  trace.note(
    `crashes, and ${topic}/${log.partition} goes back to ${log.end}: ${removed.length} records are gone`,
    'broker',
  );
  if (random.chance(0.3)) {
    for (const process of processes()) {
      process.crash();
      later(random.between(200, 4_000), () => {
        targets.startProcess(process.stages);
      });
    }
  }
  later(random.between(100, 4_000), () => {
    trace.note('is back', broker.actor.name);
    broker.start();
  });
}

/** Everything that goes wrong in a history, by name. */
export const FAULTS = {
  'process-crash': (targets, later) => {
    const process = someProcess(targets);
    if (process === undefined) return;
    process.crash();
    later(targets.random.between(200, 12_000), () => {
      targets.startProcess(process.stages);
    });
  },
  'process-restart': (targets, later) => {
    const process = someProcess(targets);
    if (process === undefined) return;
    process.stop();
    later(targets.random.between(0, 6_000), () => {
      targets.startProcess(process.stages);
    });
  },
  'process-join': (targets) => {
    const process = someProcess(targets);
    if (process !== undefined && targets.processes().length < 6) targets.startProcess(process.stages);
  },
  'process-freeze': (targets, later) => {
    const process = someProcess(targets);
    if (process === undefined) return;
    const forMs = targets.random.between(300, 25_000);
    targets.trace.note(`freezes for ${Math.round(forMs)} ms`, process.actor.name);
    targets.time.freeze(process.actor);
    later(forMs, () => {
      if (!process.actor.isAlive) return;
      targets.trace.note('thaws', process.actor.name);
      targets.time.thaw(process.actor);
    });
  },
  'freeze-before-write': ({ network, random, logTopic, sequencesTopic }) => {
    const topic = random.chance(0.8) ? logTopic : sequencesTopic;
    network.freezeAtSend = { prefix: `produce ${topic}`, forMs: random.between(4_000, 30_000), client: null };
  },
  'broker-freeze': ({ time, random, trace, broker }, later) => {
    const forMs = random.between(500, 20_000);
    trace.note(`freezes for ${Math.round(forMs)} ms`, broker.actor.name);
    time.freeze(broker.actor);
    later(forMs, () => {
      trace.note('thaws', broker.actor.name);
      time.thaw(broker.actor);
    });
  },
  /** As of a host that is short of everything: short standstills, one soon after the other. */
  'broker-stutter': ({ time, random, trace, broker }, later) => {
    let atMs = 0;
    for (let count = random.int(2, 5); count > 0; count--) {
      const forMs = random.between(3_050, 4_500);
      later(atMs, () => {
        trace.note(`freezes for ${Math.round(forMs)} ms`, broker.actor.name);
        time.freeze(broker.actor);
      });
      later(atMs + forMs, () => {
        time.thaw(broker.actor);
      });
      atMs += forMs + random.between(20, 150);
    }
  },
  'broker-crash': ({ random, trace, broker }, later) => {
    trace.note('crashes', broker.actor.name);
    broker.crash();
    later(random.between(300, 6_000), () => {
      trace.note('is back', broker.actor.name);
      broker.start();
    });
  },
  'postgres-crash': ({ random, trace, postgres }, later) => {
    trace.note('crashes', postgres.actor.name);
    postgres.crash();
    later(random.between(300, 8_000), () => {
      trace.note('is back', postgres.actor.name);
      postgres.start();
    });
  },
  'postgres-freeze': ({ time, random, trace, postgres }, later) => {
    trace.note('freezes', postgres.actor.name);
    time.freeze(postgres.actor);
    later(random.between(300, 15_000), () => {
      trace.note('thaws', postgres.actor.name);
      time.thaw(postgres.actor);
    });
  },
  'lost-answers': (targets, later) => {
    const kinds = targets.random.chance(0.5) ? ['produce'] : [targets.random.pick(REQUEST_KINDS)];
    storm(kinds, { ...CALM, loseReply: targets.random.between(0.1, 0.9) }, targets);
    later(targets.random.between(500, 6_000), () => {
      for (const kind of kinds) targets.network.weather.delete(kind);
    });
  },
  'bad-network': (targets, later) => {
    const kinds = REQUEST_KINDS.filter(() => targets.random.chance(0.5));
    const [loseRequest, loseReply] = [targets.random.between(0, 0.4), targets.random.between(0, 0.4)];
    storm(kinds, { loseRequest, loseReply, delay: 0.3, delayMs: targets.random.between(10, 5_000) }, targets);
    later(targets.random.between(500, 8_000), () => {
      for (const kind of kinds) targets.network.weather.delete(kind);
    });
  },
  'clock-step': (targets, later) => {
    const process = someProcess(targets);
    if (process === undefined) return;
    targets.ledger.clocksWereSet = true;
    process.actor.clockSkewMs = targets.random.between(-600_000, 600_000);
    targets.trace.note(`has its clock set by ${Math.round(process.actor.clockSkewMs)} ms`, process.actor.name);
    later(targets.random.between(2_000, 10_000), () => {
      process.actor.clockSkewMs = 0;
    });
  },
  'sequences-compacted': ({ broker, sequencesTopic, random, trace }) => {
    for (const log of broker.partitionsOf(sequencesTopic)) {
      trace.note(`${log.topic}/${log.partition} is compacted`, broker.actor.name);
      log.compact(log.end - random.int(0, 5));
    }
  },
  /** The feed of one partition waits for a lock in Postgres: the others are to go on. */
  'partition-blocked': ({ random, trace, postgres, broker, logTopic, ledger, isAlone, time }, later) => {
    const partition = random.int(0, broker.partitionsOf(logTopic).length - 1);
    const forMs = random.between(6_000, 9_500);
    const beganMs = time.nowMs;
    trace.note(`the feed of ${logTopic}/${partition} waits for a lock`, postgres.actor.name);
    postgres.block('feed', logTopic, partition);
    later(forMs, () => {
      trace.note(`the feed of ${logTopic}/${partition} has its lock`, postgres.actor.name);
      for (const log of broker.partitionsOf(logTopic)) {
        const next = projectedTo({ postgres, logTopic }, log.partition);
        const isLate = ({ offset, timestampMs }: KeptRecord) =>
          offset >= next && timestampMs > EPOCH_MS + beganMs && timestampMs < EPOCH_MS + time.nowMs - PROMPT_MS;
        if (isAlone && log.partition !== partition && log.records.some(isLate)) {
          ledger.breaches.push(`${logTopic}/${log.partition} waits while only ${logTopic}/${partition} is blocked`);
        }
      }
      postgres.unblock();
    });
  },
  /** The router and the projector fall behind together, and operators change things meanwhile. */
  'readers-behind': ({ time, broker, random, trace, router, feedProjector, operators }, later) => {
    const forMs = new Map([router, feedProjector].map((groupId) => [groupId, random.between(1_000, 15_000)]));
    for (const [groupId, ms] of forMs) {
      trace.note(`${groupId} is given nothing`, broker.actor.name);
      broker.withhold(groupId);
      later(ms, () => {
        trace.note(`${groupId} is given records again`, broker.actor.name);
        broker.giveAgain(groupId);
      });
    }
    for (const operator of operators) {
      const atMs = time.nowMs + random.between(0, 5_000);
      if (random.chance(0.5)) operator.disable(atMs, atMs + random.between(100, 8_000));
    }
  },
  /** The inbox is lost, in part or whole, or the broker's files of it are old ones. */
  'inbox-back': (targets, later) => {
    goBack(targets, targets.inboxTopic, later, (log) =>
      targets.random.chance(0.3) ? log.renew() : log.cut(targets.random.int(log.start, log.end)),
    );
  },
  'log-back': (targets, later) => {
    goBack(targets, targets.logTopic, later, (log) =>
      log.cut(Math.max(log.start, log.end - targets.random.int(1, 40))),
    );
  },
  /** Of a log whose beginning is gone already, the topic is lost that knows the last seqs. */
  'sequences-lost': (targets, later) => {
    const { random, trace, broker, logTopic, sequencesTopic, router, feedProjector, alerting, processes } = targets;
    if (targets.ledger.wentBack.size > 0) return;
    const partition = random.int(0, broker.partitionsOf(logTopic).length - 1);
    // Retention takes records weeks after their readers have committed them.
    const read = [router, feedProjector, ...(alerting === null ? [] : [alerting])].map(
      (group) => broker.group(group).offsets.get(`${logTopic}/${partition}`)?.offset ?? 0,
    );
    const log = broker.log(logTopic, partition);
    const old = log.records.findIndex(({ timestampMs }) => timestampMs > EPOCH_MS + targets.time.nowMs - UNDER_WAY_MS);
    log.prune(Math.min(...read, projectedTo(targets, partition), old === -1 ? log.end : log.start + old));
    const removed = broker.log(sequencesTopic, partition).renew();
    trace.note(`${sequencesTopic}/${partition} is lost; ${logTopic} begins at ${log.start}`, broker.actor.name);
    targets.ledger.wentBack.set(`${sequencesTopic}/${partition}`, { removed, end: 0, projected: 0 });
    for (const process of processes()) {
      if (!process.stages.includes('sequencer')) continue;
      process.crash();
      later(random.between(200, 3_000), () => {
        targets.startProcess(process.stages);
      });
    }
  },
  'offsets-lost': ({ broker, groupIds, random, trace }) => {
    const groupId = random.pick(groupIds);
    trace.note(`the offsets of ${groupId} are lost`, broker.actor.name);
    broker.forgetOffsets(groupId);
  },
} satisfies Record<string, Fault>;

export type FaultName = keyof typeof FAULTS;

export const FAULT_NAMES = Object.keys(FAULTS) as readonly FaultName[];

/** Has faults happen, and sees to it that they are over when they are to be. */
export class FaultPlan {
  readonly #chance = new Actor('chance');

  constructor(private readonly targets: FaultTargets) {}

  /** @param overByMs by when everything that a fault broke is whole again */
  schedule(name: FaultName, atMs: number, overByMs: number): void {
    const { time, trace } = this.targets;
    time.schedule(atMs - time.nowMs, this.#chance, () => {
      trace.note(`fault: ${name}`);
      const fault: Fault = FAULTS[name];
      fault(this.targets, (delayMs, act) => {
        time.schedule(Math.min(delayMs, overByMs - time.nowMs), this.#chance, act);
      });
    });
  }
}
