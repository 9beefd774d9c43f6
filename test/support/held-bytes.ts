import { Session } from 'node:inspector/promises';

/** Collections that follow each other free what only the one before has let go of. */
const COLLECTIONS = 3;

async function bytesInUse(session: Session): Promise<number> {
  for (let n = 0; n < COLLECTIONS; n++) await session.post('HeapProfiler.collectGarbage');
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/**
 * How many bytes of memory what `make` returns holds, buffers included. What it allocates and lets go of is not counted.
 * Other code must not allocate megabytes meanwhile.
 */
export async function heldBytes(make: () => unknown): Promise<number> {
  const session = new Session();
  session.connect();
  try {
    const before = await bytesInUse(session);
    const made = [make()];
    const after = await bytesInUse(session);
    // Alive until here.
    made.length = 0;
    return after - before;
  } finally {
    session.disconnect();
  }
}
