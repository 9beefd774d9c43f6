import { setTimeout as delay } from 'node:timers/promises';
import { backOffMs } from './back-off.js';

export interface RegularlyOptions {
  /** How long to rest after one time before the next. */
  readonly everyMs: number;
  /** How long to rest before the first time; `everyMs` unless given. */
  readonly firstAfterMs?: number;
  /** The work. It may say after how long it wants to be done again, in place of `everyMs`. */
  readonly act: (signal: AbortSignal) => Promise<number | undefined>;
  /** Called with each failure, how many there were in a row, and when the work is tried again. */
  readonly onFailure: (error: unknown, failures: number, waitMs: number) => void;
}

/**
 * Does some work again and again, for as long as it runs: never twice at the same time, and on after any failure, with
 * back-off. What the end interrupts is not a failure.
 */
export class Regularly {
  readonly #ending = new AbortController();
  #running: Promise<void> | null = null;

  constructor(private readonly options: RegularlyOptions) {}

  start(): void {
    this.#running ??= this.#run();
  }

  /** Aborts the signal that the work has, and resolves once the work has ended. */
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
