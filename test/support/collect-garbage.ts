import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects everything that nobody holds now. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  // What this turn of the event loop holds is let go of after it.
  await setImmediate();
  (runInNewContext('gc') as () => void)();
}
