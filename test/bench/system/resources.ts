import { ALL_ELSE } from '../figures/disturbance.js';
import { figure, type Figure } from '../figures/figure.js';
import {
  forgetPeak,
  machineCpuSeconds,
  peakMB,
  processCpuSeconds,
  systemUsage,
  type SystemUsage,
} from './process-usage.js';

/** The processes whose cost is measured: Gapless with its servers, and those that replace the world around it. */
export interface WatchedProcesses {
  readonly gapless: number;
  readonly load: number;
  readonly receiver: number;
}

interface Reading {
  readonly system: SystemUsage;
  readonly loadSeconds: number;
  readonly receiverSeconds: number;
  /** Of the process that directs the others. */
  readonly benchSeconds: number;
  readonly machineSeconds: number;
  readonly atMs: number;
}

function readAll(pids: WatchedProcesses): Reading | undefined {
  const system = systemUsage(pids.gapless);
  const machineSeconds = machineCpuSeconds();
  if (system === undefined || machineSeconds === undefined) return undefined;
  return {
    system,
    loadSeconds: processCpuSeconds(pids.load) ?? Number.NaN,
    receiverSeconds: processCpuSeconds(pids.receiver) ?? Number.NaN,
    benchSeconds: processCpuSeconds(process.pid) ?? Number.NaN,
    machineSeconds,
    atMs: performance.now(),
  };
}

/** Measures what work costs the machine, from the construction on. */
export class Resources {
  readonly #before: Reading | undefined;

  constructor(private readonly pids: WatchedProcesses) {
    forgetPeak(pids.gapless);
    this.#before = readAll(pids);
  }

  /** What it costs until now, and how busy the machine was. @param per what the CPU time is shared among */
  figures(per: { readonly count: number; readonly of: string }): readonly Figure[] {
    return [...this.costs(per), ...this.cores()];
  }

  /** What it costs until now. @param per what the CPU time is shared among */
  costs(per: { readonly count: number; readonly of: string }): readonly Figure[] {
    const [before, after] = [this.#before, readAll(this.pids)];
    if (before === undefined || after === undefined) return [figure('CPU and memory', null, '(Linux only)')];
    const { own, kafka, postgres, load, receiver } = secondsBetween(before, after);
    const perThousand = (name: string, seconds: number) =>
      figure(`CPU per 1,000 ${per.of}: ${name}`, (seconds * 1_000) / per.count, 's');
    return [
      perThousand('Node stages', own),
      perThousand('Kafka', kafka),
      perThousand('Postgres', postgres),
      perThousand('all servers', own + kafka + postgres),
      perThousand('load generator', load),
      perThousand('receiver', receiver),
      figure('memory, Node stages: before', before.system.own.residentMB, 'MB'),
      figure('memory, Node stages: peak', peakMB(this.pids.gapless), 'MB'),
      figure('memory, Kafka', after.system.kafka.residentMB, 'MB'),
      figure('memory, Postgres, PSS', after.system.postgres.proportionalMB, 'MB'),
      figure('memory, all servers', allMB(after.system), 'MB'),
    ];
  }

  /** How busy the machine was until now, and with what. */
  cores(): readonly Figure[] {
    const [before, after] = [this.#before, readAll(this.pids)];
    return before === undefined || after === undefined ? [] : coresFigures(before, after);
  }
}

/** Node would share its binary with the processes of the benchmark. Only Postgres has several processes of its own. */
function allMB({ own, kafka, postgres }: SystemUsage): number {
  return own.residentMB + kafka.residentMB + postgres.proportionalMB;
}

function secondsBetween(before: Reading, after: Reading) {
  const of = (part: keyof SystemUsage) => after.system[part].cpuSeconds - before.system[part].cpuSeconds;
  return {
    own: of('own'),
    kafka: of('kafka'),
    postgres: of('postgres'),
    load: after.loadSeconds - before.loadSeconds,
    receiver: after.receiverSeconds - before.receiverSeconds,
    bench: after.benchSeconds - before.benchSeconds,
  };
}

function coresFigures(before: Reading, after: Reading): readonly Figure[] {
  const parts = secondsBetween(before, after);
  const known = Object.values(parts).reduce((sum, seconds) => sum + seconds, 0);
  const cores = (name: string, cpuSeconds: number) =>
    figure(`cores in use: ${name}`, (cpuSeconds * 1_000) / (after.atMs - before.atMs), '');
  return [
    cores('Node stages', parts.own),
    cores('Kafka', parts.kafka),
    cores('Postgres', parts.postgres),
    cores('all servers', parts.own + parts.kafka + parts.postgres),
    cores('load generator', parts.load),
    cores('receiver', parts.receiver),
    cores('what directs the benchmark', parts.bench),
    // What else runs takes from the results: with much of it they print little.
    figure(ALL_ELSE, ((after.machineSeconds - before.machineSeconds - known) * 1_000) / (after.atMs - before.atMs), ''),
  ];
}
