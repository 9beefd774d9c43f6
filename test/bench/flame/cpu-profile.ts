/** A function as a CPU profile names it. */
export interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  /** From 0 on. */
  readonly lineNumber: number;
}

/** What `node --cpu-prof` writes for a thread. */
export interface CpuProfile {
  /** The calls, each with the ids of those that were made from it; the first is the root of all. */
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: CallFrame;
    readonly children?: readonly number[];
  }[];
  /** Microseconds on the monotonic clock of the machine. */
  readonly startTime: number;
  /** The ids of the nodes that ran at each sample, and the microseconds since the one before. */
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** A stretch of time, in milliseconds on the monotonic clock of the machine. */
export interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
}

export const ALWAYS: Stretch = { fromMs: -Infinity, toMs: Infinity };

/** The stages of Gapless whose code a profile holds, by name. */
export function stagesIn(profile: CpuProfile): readonly string[] {
  const stages = profile.nodes.flatMap(({ callFrame }) => /\/dist\/apps\/([^/]+)\//.exec(callFrame.url)?.[1] ?? []);
  return [...new Set(stages)].filter((stage) => stage !== 'standalone').sort();
}
