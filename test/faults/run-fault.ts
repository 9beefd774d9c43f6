import { setMaxListeners } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import type { Fault } from './fault.js';
import { prove, type Proof } from './prove.js';
import { World } from './world.js';

/** What became of a fault. */
export type Outcome =
  | Proof
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
  readonly print: (progress: string) => void;
}

/** Brings the fault about in a world of its own and proves what holds after it. Nothing of it is left. */
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
  const { dataDir, seed, print } = options;
  const world = new World({ ...fault.plan, dataDir, seed, signal, print });
  try {
    await world.begin();
    const outcome = await strikeAndProve(fault, world);
    if (outcome.kind === 'broken') world.writeLogs(options.logsDir);
    return outcome;
  } catch (error) {
    // An error that follows from the end of the time says less than that end.
    const reason: unknown = signal.aborted ? signal.reason : error;
    world.writeLogs(options.logsDir);
    writeFileSync(join(options.logsDir, 'failure.txt'), inspect(reason));
    return { kind: 'failed', reason: whyOf(reason) };
  } finally {
    clearTimeout(timer);
    await world.end();
  }
}

/** Returns the message with its cause: of a request that failed, the message alone says only that. */
function whyOf(reason: unknown): string {
  if (!(reason instanceof Error)) return String(reason);
  return reason.cause === undefined ? reason.message : `${reason.message} (${whyOf(reason.cause)})`;
}

async function strikeAndProve(fault: Fault, world: World): Promise<Proof> {
  await fault.strike(world);
  const proof = await prove(world.traffic, world.print);
  const missed = fault.missed?.(proof.verdict);
  const problems = [...world.problems, ...(missed === undefined ? [] : [missed])];
  return problems.length === 0 ? proof : { ...proof, kind: 'broken', problems: [...proof.problems, ...problems] };
}
