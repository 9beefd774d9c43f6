import { once, setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** Milliseconds. A terminal and npm both pass on a Ctrl-C, so a second signal within this time is an echo. */
const SAME_SIGNAL_MS = 1_000;

/**
 * Returns a signal that SIGINT, SIGTERM or SIGHUP aborts. A second one, unless it is an echo of the first, ends the
 * process at once.
 */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  // Many waits listen to this signal.
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
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, stop);
  // A terminal that was closed, or a pipe that nobody reads any more, must not keep the process from stopping in order.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);
  return controller.signal;
}

/** Resolves when the signal is aborted. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
