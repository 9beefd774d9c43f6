import { setTimeout as delay } from 'node:timers/promises';
import { backOffMs } from './back-off.js';

export interface RegularlyOptions {
  /** The rest between two runs, milliseconds. */
  readonly everyMs: number;
  /** The rest before the first run, milliseconds; `everyMs` by default. */
  readonly firstAfterMs?: number;
  /** The work. It may return the milliseconds until its next run, instead of `everyMs`. */
  readonly act: (signal: AbortSignal) => Promise<number | undefined>;
  /** Called for each failure, with the number of failures in a row and the milliseconds until the retry. */
  readonly onFailure: (error: unknown, failures: number, waitMs: number) => void;
}

/**
 * Runs work regularly until it is stopped. It never runs twice at the same time, and retries with back-off after a
 * failure. An interruption by `stop` is not a failure.
 */
export class Regularly {
  readonly #ending = new AbortController();
  #running: Promise<void> | null = null;

  constructor(private readonly options: RegularlyOptions) {}

  start(): void {
    this.#running ??= this.#run();
  }

  /** Aborts the work's signal, and resolves once the work has ended. */
  async stop(): Promise<void> {
    this.#ending.abort(new Error('the process ends'));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { everyMs, firstAfterMs, act, onFailure } = this.options;
    const { signal } = this.#ending;
    let failures = 0;
    for (let waitMs = firstAfterMs ?? everyMs; ;) {
      try {
        await delay(waitMs, undefined, { signal });
        waitMs = (await act(signal)) ?? everyMs;
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures++;
        waitMs = Math.min(everyMs, backOffMs(failures));
        onFailure(error, failures, waitMs);
      }
    }
  }
}
