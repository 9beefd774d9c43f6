import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { stopLeftovers } from '#libs/embedded-stack';
import { stopSignal } from '#libs/runtime';
import { unmountVolumes } from './small-volume.js';

/** Ends what runs that were killed left in their folders below this one, and removes these folders. */
export async function removeFinishedRuns(runs: string): Promise<void> {
  for (const run of existsSync(runs) ? readdirSync(runs) : []) {
    const dataDir = join(runs, run);
    if (!(await stopLeftovers(dataDir))) continue;
    unmountVolumes(dataDir);
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Returns a signal that `stopSignal` aborts, and the end of the time that the run may take. */
export function endOfRun(limitMs: number): AbortSignal {
  const late = new AbortController();
  setTimeout(() => {
    late.abort(new Error(`the run took longer than ${Math.round(limitMs / 60_000)} minutes`));
  }, limitMs).unref();
  return AbortSignal.any([stopSignal(), late.signal]);
}
