import type { FaultName } from './world/faults.js';
import { simulate, type HistoryOptions, type HistoryResult } from './world/history.js';

const TELL_EVERY_MS = 5_000;
/** Every so many histories one is replayed, to see whether it is the same. */
const REPLAY_EVERY = 100;
/** Problems of a history that are printed; the trace has them all. */
const PROBLEMS_SHOWN = 5;
/** Broken histories that are printed in full. */
const HISTORIES_SHOWN = 10;

export interface RunOptions {
  readonly firstSeed: number;
  readonly histories: number;
  /** Begins no history later than this. */
  readonly forMs: number;
  readonly realNowMs: () => number;
  /** Processor time of this process, milliseconds. */
  readonly realCpuMs: () => number;
  readonly write: (text: string) => void;
  readonly progress: (text: string) => void;
  readonly onTrace: ((line: string) => void) | null;
  readonly faults?: readonly FaultName[];
  /** Whether to end with the first history that breaks a promise. */
  readonly untilBroken?: boolean;
}

export interface RunOutcome {
  readonly histories: number;
  readonly broken: readonly HistoryResult[];
}

function brokenText({ seed, problems }: HistoryResult): string {
  const shown = problems.slice(0, PROBLEMS_SHOWN).map((problem) => `  ${problem}\n`);
  const more = problems.length > PROBLEMS_SHOWN ? `  and ${problems.length - PROBLEMS_SHOWN} more\n` : '';
  return `\nSeed ${seed} breaks a promise. Replay it: npm run simulate -- --seed ${seed} --trace\n${shown.join('')}${more}`;
}

/** Runs the history once more, with a trace: a seed has to give the same history every time to be of use. */
async function replayed(result: HistoryResult, options: HistoryOptions): Promise<HistoryResult> {
  const traced = { ...options, onTrace: options.onTrace ?? (() => undefined) };
  const [one, other] = [await simulate(traced), await simulate(traced)];
  if (one.digest === other.digest && one.steps === result.steps) return result;
  return { ...result, problems: [...result.problems, 'it is another history when it is replayed'] };
}

/** Simulates history after history, and says what came of them. */
export async function runHistories(options: RunOptions): Promise<RunOutcome> {
  const { firstSeed, realNowMs, write, progress } = options;
  // Errors are many and expected here, and their stacks are most of what they cost.
  Error.stackTraceLimit = options.onTrace === null ? 4 : 10;
  const beganMs = realNowMs();
  const beganCpuMs = options.realCpuMs();
  const elapsedMs = () => realNowMs() - beganMs;
  const broken: HistoryResult[] = [];
  const sums = { histories: 0, events: 0, steps: 0, virtualMs: 0 };
  let toldMs = 0;
  for (let seed = firstSeed; sums.histories < options.histories && elapsedMs() < options.forMs; seed++) {
    const historyOptions: HistoryOptions = {
      seed,
      onTrace: options.onTrace,
      ...(options.faults === undefined ? {} : { faults: options.faults }),
    };
    let result = await simulate(historyOptions);
    const isReplayed = options.onTrace === null && sums.histories % REPLAY_EVERY === REPLAY_EVERY - 1;
    if (isReplayed) result = await replayed(result, historyOptions);
    sums.histories++;
    sums.events += result.events;
    sums.steps += result.steps;
    sums.virtualMs += result.virtualMs;
    if (result.problems.length > 0) {
      broken.push(result);
      if (broken.length <= HISTORIES_SHOWN) write(brokenText(result));
      if (options.untilBroken === true) break;
    }
    if (elapsedMs() - toldMs > TELL_EVERY_MS) {
      toldMs = elapsedMs();
      progress(`${Math.round(toldMs / 1_000)} s: ${sums.histories} histories, ${broken.length} broken\n`);
    }
  }
  const perMinute = Math.round((sums.histories * 60_000) / elapsedMs());
  const cpuMs = (options.realCpuMs() - beganCpuMs) / sums.histories;
  write(
    `\n${sums.histories} histories from seed ${firstSeed}, ${broken.length} broken; ` +
      `${sums.events} events, ${(sums.virtualMs / 3_600_000).toFixed(1)} hours of simulated time, ` +
      `${perMinute} histories a minute, ${cpuMs.toFixed(1)} ms of processor time each\n`,
  );
  return { histories: sums.histories, broken };
}
