import { setTimeout as delay } from 'node:timers/promises';

/**
 * The longest wait, milliseconds. Waits double from 100 ms up to this. Long enough to spare a server that is down,
 * short enough to notice soon that it is back.
 */
const MAX_WAIT_MS = 5_000;

export function backOffMs(failures: number): number {
  return Math.min(MAX_WAIT_MS, 100 * 2 ** Math.min(failures - 1, 10));
}

/**
 * Repeats `act` until it succeeds.
 * @param options.onFailure called for each failure; throws to give up
 * @throws any error of `onFailure`, or the signal's reason once it is aborted
 */
export async function untilItWorks<T>(
  act: () => Promise<T>,
  options: {
    readonly onFailure: (error: unknown, failures: number, waitMs: number) => void;
    readonly signal?: AbortSignal;
  },
): Promise<T> {
  for (let failures = 1; ; failures++) {
    options.signal?.throwIfAborted();
    try {
      return await act();
    } catch (error) {
      const waitMs = backOffMs(failures);
      options.onFailure(error, failures, waitMs);
      await delay(waitMs, undefined, options.signal ? { signal: options.signal } : {});
    }
  }
}
