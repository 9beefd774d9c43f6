import { messageOf, OperatorError } from '#libs/domain';
import { untilItWorks } from './back-off.js';

/** Milliseconds. If a machine is busy for longer, an operator must look at it. */
const LIMIT_MS = 5 * 60_000;

/** A step of a start failed until its time limit. */
export class StartStepError extends OperatorError {
  override readonly name = 'StartStepError';
  constructor(what: string, limitMs: number, reason: string, options: ErrorOptions) {
    super(`the start waited ${Math.round(limitMs / 1_000)} s for ${what}, and gave up: ${reason}`, options);
  }
}

export interface StartStepOptions {
  /** Whether the error can pass by itself. */
  readonly isPassing: (error: unknown) => boolean;
  /** Called for each failure, with what the start waits for and why. */
  readonly onWait: (reason: string, failures: number, waitMs: number) => void;
  readonly signal?: AbortSignal | undefined;
  /** How long to retry, milliseconds (default 5 min). */
  readonly limitMs?: number;
}

/**
 * Runs one step of a start, and retries it with back-off while its error can pass.
 * @param what the object of "waits for" in messages
 * @throws StartStepError after the time limit; an error that does not pass; the signal's reason
 */
export async function startStep<T>(what: string, act: () => Promise<T>, options: StartStepOptions): Promise<T> {
  const { isPassing, onWait, signal, limitMs = LIMIT_MS } = options;
  const began = performance.now();
  return untilItWorks(act, {
    ...(signal === undefined ? {} : { signal }),
    onFailure: (error, failures, waitMs) => {
      // A nested step that gave up has waited long enough.
      if (error instanceof StartStepError || !isPassing(error)) throw error;
      const reason = messageOf(error);
      if (performance.now() - began >= limitMs) throw new StartStepError(what, limitMs, reason, { cause: error });
      onWait(`waiting for ${what}: ${reason}`, failures, waitMs);
    },
  });
}
