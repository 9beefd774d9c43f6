import { setMaxListeners } from 'node:events';
import type { Fault } from './fault.js';
import { holds, judge, type Verdict } from './verdict.js';
import { World } from './world.js';

/** What became of a fault. */
export type Outcome =
  | {
      /** Whether everything that the service promises held. */
      readonly kind: 'held' | 'broken';
      readonly verdict: Verdict;
      readonly longestStallMs: number;
      /** What is wrong, in words. */
      readonly problems: readonly string[];
    }
  | { readonly kind: 'skipped'; readonly reason: string }
  /** It could not be brought to its end. */
  | { readonly kind: 'failed'; readonly reason: string };

export interface RunOptions {
  /** For servers and their data; removed at the end. */
  readonly dataDir: string;
  /** Takes the stages' logs if something is wrong. */
  readonly logsDir: string;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly tell: (progress: string) => void;
}

/** Brings the fault about in a world of its own and proves what holds behind it. Nothing of it is left. */
export async function runFault(fault: Fault, options: RunOptions): Promise<Outcome> {
  const obstacle = fault.obstacle?.();
  if (obstacle !== undefined) return { kind: 'skipped', reason: obstacle };
  const timeLimit = new AbortController();
  const timer = setTimeout(() => {
    timeLimit.abort(new Error(`it took longer than ${fault.limitMs / 1_000} s`));
  }, fault.limitMs);
  const signal = AbortSignal.any([options.signal, timeLimit.signal]);
  // Everything that waits for something listens to it.
  setMaxListeners(0, signal);
  const { dataDir, seed, tell } = options;
  let world: World | undefined;
  try {
    world = await World.begin({ ...fault.plan, dataDir, seed, signal, tell });
    const outcome = await strikeAndProve(fault, world);
    if (outcome.kind === 'broken') world.writeLogs(options.logsDir);
    return outcome;
  } catch (error) {
    world?.writeLogs(options.logsDir);
    // What is thrown because of the end of the time says less than that.
    const reason: unknown = signal.aborted ? signal.reason : error;
    return { kind: 'failed', reason: reason instanceof Error ? reason.message : String(reason) };
  } finally {
    clearTimeout(timer);
    await world?.end();
  }
}

async function strikeAndProve(fault: Fault, world: World): Promise<Extract<Outcome, { kind: 'held' | 'broken' }>> {
  await fault.strike(world);
  world.tell('waiting until everything is where it belongs');
  await world.untilFlowing();
  const unsettled = await world.settle();
  world.tell('reading log, feeds and pushes');
  const verdict = judge({
    ledger: world.ledger,
    log: await world.readLog(),
    feeds: await world.readFeeds(),
    received: world.customers.endpoints,
  });
  const missed = fault.missed?.(verdict);
  const problems = [...verdict.problems, ...unsettled, ...(missed === undefined ? [] : [missed])];
  const kind = holds(verdict) && problems.length === 0 ? 'held' : 'broken';
  return { kind, verdict, longestStallMs: world.longestStallMs, problems };
}
