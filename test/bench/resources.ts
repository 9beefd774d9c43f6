import { forgetPeak, machineCpuSeconds, peakMiB, systemUsage, type SystemUsage } from './process-usage.js';
import { figure, type Figure } from './report.js';

interface Reading {
  readonly system: SystemUsage;
  /** Of the load, the receivers and the readers. */
  readonly benchSeconds: number;
  readonly machineSeconds: number;
  readonly atMs: number;
}

function readAll(pid: number): Reading | undefined {
  const system = systemUsage(pid);
  const machineSeconds = machineCpuSeconds();
  if (system === undefined || machineSeconds === undefined) return undefined;
  const { user, system: kernel } = process.cpuUsage();
  return { system, benchSeconds: (user + kernel) / 1e6, machineSeconds, atMs: performance.now() };
}

/** Tells what a stretch of work costs the machine, from the construction on. */
export class Resources {
  readonly #before: Reading | undefined;

  constructor(private readonly pid: number) {
    forgetPeak(pid);
    this.#before = readAll(pid);
  }

  /** What it costs until now. @param per what the CPU time is shared among */
  figures(per: { readonly count: number; readonly of: string }): readonly Figure[] {
    const [before, after] = [this.#before, readAll(this.pid)];
    if (before === undefined || after === undefined) return [figure('CPU and memory', null, '(Linux only)')];
    const { own, kafka, postgres } = secondsBetween(before, after);
    const perThousand = (seconds: number) => (seconds * 1_000) / per.count;
    return [
      figure(`CPU per 1,000 ${per.of}: own process`, perThousand(own), 's'),
      figure(`CPU per 1,000 ${per.of}: Kafka`, perThousand(kafka), 's'),
      figure(`CPU per 1,000 ${per.of}: Postgres`, perThousand(postgres), 's'),
      figure(`CPU per 1,000 ${per.of}: all three`, perThousand(own + kafka + postgres), 's'),
      ...coresFigures(before, after),
      figure('resident memory, own process: before', before.system.own.residentMiB, 'MiB'),
      figure('resident memory, own process: peak', peakMiB(this.pid), 'MiB'),
      figure('resident memory, Kafka', after.system.kafka.residentMiB, 'MiB'),
      figure('resident memory, Postgres', after.system.postgres.residentMiB, 'MiB'),
    ];
  }

  /** How busy the machine was until now, and with what. */
  cores(): readonly Figure[] {
    const [before, after] = [this.#before, readAll(this.pid)];
    return before === undefined || after === undefined ? [] : coresFigures(before, after);
  }
}

function secondsBetween(before: Reading, after: Reading) {
  const of = (part: keyof SystemUsage) => after.system[part].cpuSeconds - before.system[part].cpuSeconds;
  return { own: of('own'), kafka: of('kafka'), postgres: of('postgres') };
}

function coresFigures(before: Reading, after: Reading): readonly Figure[] {
  const { own, kafka, postgres } = secondsBetween(before, after);
  const system = own + kafka + postgres;
  const bench = after.benchSeconds - before.benchSeconds;
  const others = after.machineSeconds - before.machineSeconds - system - bench;
  const seconds = (after.atMs - before.atMs) / 1_000;
  return [
    figure('CPU in use: own process, Kafka and Postgres', system / seconds, 'cores'),
    figure('CPU in use: load and receivers', bench / seconds, 'cores'),
    // What else runs takes from the results: with much of it they tell little.
    figure('CPU in use: all else on this machine', others / seconds, 'cores'),
  ];
}
