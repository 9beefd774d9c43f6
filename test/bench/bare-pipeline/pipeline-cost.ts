import { ALL_ELSE } from '../figures/disturbance.js';
import { figure, type Figure } from '../figures/figure.js';
import { machineCpuSeconds, processCpuSeconds, systemUsage } from '../system/process-usage.js';

interface Reading {
  readonly partsSeconds: number;
  readonly kafkaSeconds: number;
  readonly receiverSeconds: number;
  /** Of the process that directs the others. */
  readonly benchSeconds: number;
  readonly machineSeconds: number;
  readonly atMs: number;
}

/** Measures what work costs the machine, from the construction on, with a Kafka that this process has started. */
export class PipelineCost {
  readonly #before: Reading | undefined;

  /** @param pids of the parts of the pipeline, and of the receiver */
  constructor(private readonly pids: { readonly parts: readonly number[]; readonly receiver: number }) {
    this.#before = this.#read();
  }

  /** @param events what the CPU time is shared among */
  figures(events: number): readonly Figure[] {
    const [before, after] = [this.#before, this.#read()];
    if (before === undefined || after === undefined) return [];
    const spent = (of: keyof Reading) => after[of] - before[of];
    const perThousand = (name: string, of: keyof Reading) =>
      figure(`CPU for 1,000, ${name}`, (spent(of) * 1_000_000) / events, 'ms');
    const known = spent('partsSeconds') + spent('kafkaSeconds') + spent('receiverSeconds') + spent('benchSeconds');
    return [
      perThousand('Node', 'partsSeconds'),
      perThousand('Kafka', 'kafkaSeconds'),
      perThousand('receiver', 'receiverSeconds'),
      figure(ALL_ELSE, ((spent('machineSeconds') - known) * 1_000) / spent('atMs'), ''),
    ];
  }

  #read(): Reading | undefined {
    const machineSeconds = machineCpuSeconds();
    if (machineSeconds === undefined) return undefined;
    return {
      partsSeconds: this.pids.parts.reduce((sum, pid) => sum + (processCpuSeconds(pid) ?? Number.NaN), 0),
      kafkaSeconds: systemUsage(process.pid)?.kafka.cpuSeconds ?? Number.NaN,
      receiverSeconds: processCpuSeconds(this.pids.receiver) ?? Number.NaN,
      benchSeconds: processCpuSeconds(process.pid) ?? Number.NaN,
      machineSeconds,
      atMs: performance.now(),
    };
  }
}
