import { forgetPeak, peakMiB, systemUsage, type SystemUsage } from './process-usage.js';
import { figure, type Figure } from './report.js';

/** Tells what a stretch of work costs the machine. */
export class Resources {
  readonly #before: SystemUsage | undefined;

  constructor(private readonly pid: number) {
    forgetPeak(pid);
    this.#before = systemUsage(pid);
  }

  /** @returns the cost since the construction. @param thousands of what it is shared among */
  figures(per: { readonly thousands: number; readonly of: string }): readonly Figure[] {
    const [before, after] = [this.#before, systemUsage(this.pid)];
    if (before === undefined || after === undefined) return [figure('CPU and memory', null, '(Linux only)')];
    const seconds = (part: keyof SystemUsage) => (after[part].cpuSeconds - before[part].cpuSeconds) / per.thousands;
    const [own, kafka, postgres] = [seconds('own'), seconds('kafka'), seconds('postgres')];
    return [
      figure(`CPU per 1,000 ${per.of}: own process`, own, 's'),
      figure(`CPU per 1,000 ${per.of}: Kafka`, kafka, 's'),
      figure(`CPU per 1,000 ${per.of}: Postgres`, postgres, 's'),
      figure(`CPU per 1,000 ${per.of}: with Kafka and Postgres`, own + kafka + postgres, 's'),
      figure('resident memory, own process: before', before.own.residentMiB, 'MiB'),
      figure('resident memory, own process: peak', peakMiB(this.pid), 'MiB'),
      figure('resident memory, Kafka', after.kafka.residentMiB, 'MiB'),
      figure('resident memory, Postgres', after.postgres.residentMiB, 'MiB'),
    ];
  }
}
