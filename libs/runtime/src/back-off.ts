import { setTimeout as delay } from 'node:timers/promises';

/** Waits of 100 ms, 200 ms, 400 ms … up to this many milliseconds: long enough to spare what is down, short enough to be back at once. */
const MAX_WAIT_MS = 5_000;

export function backOffMs(failures: number): number {
  return Math.min(MAX_WAIT_MS, 100 * 2 ** Math.min(failures - 1, 10));
}

/**
 * Repeats `act` until it succeeds.
 * @param options.onFailure called for each failure; may throw to give up
 * @throws what `onFailure` throws, or the signal's reason once it is aborted
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
