import { setTimeout as pause } from 'node:timers/promises';
import { isAlive, type ProcessIdentity } from './process-identity.js';

/** Signals to send in turn, each with the milliseconds to wait for the process to end. */
export type StopSteps = readonly { readonly signal: NodeJS.Signals; readonly waitMs: number }[];

const POLL_MS = 20;

/**
 * Ends a process step by step; returns as soon as it is gone.
 * @throws Error when it still runs after the last step, or belongs to a user whose processes we may not signal
 */
export async function endProcess(target: ProcessIdentity, steps: StopSteps): Promise<void> {
  for (const { signal, waitMs } of steps) {
    signalProcess(target, signal);
    const deadline = performance.now() + waitMs;
    while (performance.now() < deadline) {
      if (!isAlive(target)) return;
      await pause(POLL_MS);
    }
  }
  if (isAlive(target)) throw new Error(`process ${target.pid} does not end, not even by SIGKILL`);
}

/** Sends the signal, unless the process has ended. */
export function signalProcess(target: ProcessIdentity, signal: NodeJS.Signals): void {
  if (!isAlive(target)) return;
  try {
    process.kill(target.pid, signal);
  } catch (error) {
    if (isAlive(target)) throw new Error(`process ${target.pid} cannot be signalled`, { cause: error });
  }
}
