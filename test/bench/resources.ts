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

  /** @param per what the CPU time is shared among */
  figures(per: { readonly count: number; readonly of: string }): readonly Figure[] {
    const [before, after] = [this.#before, readAll(this.pid)];
    if (before === undefined || after === undefined) return [figure('CPU and memory', null, '(Linux only)')];
    const [own, kafka, postgres] = (['own', 'kafka', 'postgres'] as const).map(
      (part) => after.system[part].cpuSeconds - before.system[part].cpuSeconds,
    ) as [number, number, number];
    const bench = after.benchSeconds - before.benchSeconds;
    const others = after.machineSeconds - before.machineSeconds - own - kafka - postgres - bench;
    const seconds = (after.atMs - before.atMs) / 1_000;
    const perThousand = (used: number) => (used * 1_000) / per.count;
    return [
      figure(`CPU per 1,000 ${per.of}: own process`, perThousand(own), 's'),
      figure(`CPU per 1,000 ${per.of}: Kafka`, perThousand(kafka), 's'),
      figure(`CPU per 1,000 ${per.of}: Postgres`, perThousand(postgres), 's'),
      figure(`CPU per 1,000 ${per.of}: all three`, perThousand(own + kafka + postgres), 's'),
      figure('CPU in use: all three', (own + kafka + postgres) / seconds, 'cores'),
      figure('CPU in use: load and receivers', bench / seconds, 'cores'),
      // What else runs takes from the results: with much of it they tell little.
      figure('CPU in use: all else on this machine', others / seconds, 'cores'),
      figure('resident memory, own process: before', before.system.own.residentMiB, 'MiB'),
      figure('resident memory, own process: peak', peakMiB(this.pid), 'MiB'),
      figure('resident memory, Kafka', after.system.kafka.residentMiB, 'MiB'),
      figure('resident memory, Postgres', after.system.postgres.residentMiB, 'MiB'),
    ];
  }
}
