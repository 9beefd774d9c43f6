import { once, setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** A terminal and npm both pass a Ctrl-C on: what comes within this time of the first signal is the same one. */
const SAME_SIGNAL_MS = 1_000;

/** Aborted by SIGINT or SIGTERM. A second one, later than an echo of the first, ends the process at once. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  // Everything that waits for something listens to it.
  setMaxListeners(0, controller.signal);
  let echoes = false;
  const stop = (name: NodeJS.Signals) => {
    if (!controller.signal.aborted) {
      controller.abort(new Error(`stopped by ${name}`));
      echoes = true;
      void delay(SAME_SIGNAL_MS, undefined, { ref: false }).then(() => {
        echoes = false;
      });
    } else if (!echoes) {
      process.exit(130);
    }
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  return controller.signal;
}

/** Settles when the signal is aborted, and only then. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
