import { OperatorError } from '#libs/domain';
import { untilItWorks } from './back-off.js';

/** A machine that is busy for longer than this needs somebody to look at it. */
const LIMIT_MS = 5 * 60_000;

/** A step of a start kept failing until its time was over. */
export class StartStepError extends OperatorError {
  override readonly name = 'StartStepError';
  constructor(what: string, limitMs: number, reason: string, options: ErrorOptions) {
    super(`the start waited ${Math.round(limitMs / 1_000)} s for ${what}, and gave up: ${reason}`, options);
  }
}

export interface StartStepOptions {
  /** Whether waiting can help against this error. */
  readonly isPassing: (error: unknown) => boolean;
  /** Gets what the start waits for and why, once for each failure. */
  readonly onWait: (reason: string, failures: number, waitMs: number) => void;
  readonly signal?: AbortSignal | undefined;
  /** How long to go on trying (default 5 min). */
  readonly limitMs?: number;
}

/**
 * Does one step of a start, and repeats it with back-off while what stops it can pass.
 * @param what names what the step waits for, as the object of "waits for"
 * @throws StartStepError once the limit is over; the error itself when it does not pass; the signal's reason
 */
export async function startStep<T>(what: string, act: () => Promise<T>, options: StartStepOptions): Promise<T> {
  const { isPassing, onWait, signal, limitMs = LIMIT_MS } = options;
  const began = performance.now();
  return untilItWorks(act, {
    ...(signal === undefined ? {} : { signal }),
    onFailure: (error, failures, waitMs) => {
      // A step within this one that gave up has waited long enough.
      if (error instanceof StartStepError || !isPassing(error)) throw error;
      const reason = error instanceof Error && error.message !== '' ? error.message : String(error);
      if (performance.now() - began >= limitMs) throw new StartStepError(what, limitMs, reason, { cause: error });
      onWait(`waiting for ${what}: ${reason}`, failures, waitMs);
    },
  });
}
