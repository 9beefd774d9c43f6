import { collectGarbage } from './collect-garbage.js';

/** Collections that follow each other free what only the one before has let go of. */
const COLLECTIONS = 3;

async function bytesInUse(): Promise<number> {
  for (let n = 0; n < COLLECTIONS; n++) await collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/**
 * How many bytes of memory what `make` returns holds, buffers included. What it allocates and lets go of is not counted.
 * Other code must not allocate megabytes meanwhile.
 */
export async function heldBytes(make: () => unknown): Promise<number> {
  const before = await bytesInUse();
  const made = [make()];
  const after = await bytesInUse();
  // Alive until here.
  made.length = 0;
  return after - before;
}
