import { Worker } from 'node:worker_threads';
import type { MeasuredMetrics } from '#libs/telemetry';
import type { Environment, HealthBoard, PartHealth } from '#libs/runtime';

/** A message from a stage thread. */
export type FromStageThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'health'; readonly parts: Readonly<Record<string, PartHealth>> }
  | { readonly kind: 'metrics'; readonly measured: MeasuredMetrics }
  | { readonly kind: 'failed'; readonly reason: string };

/** A message to a stage thread: start its stages, end, or report its metrics. */
export type ToStageThread =
  { readonly kind: 'start'; readonly environment: Environment } | { readonly kind: 'stop' | 'measure' };

const ENTRY = new URL('./stage-thread-main.js', import.meta.url);

/**
 * Runs the stage that pushes on a thread of its own. Otherwise it and the stages that take events in would share one
 * processor, even on a machine with several.
 */
export class StageThread {
  /** Resolves when the thread ends without having been stopped. */
  readonly died: Promise<Error>;
  readonly #ready: Promise<void>;
  readonly #ended: Promise<void>;
  readonly #worker: Worker;
  #isStopping = false;
  #asking: ((measured: MeasuredMetrics) => void)[] = [];

  /**
   * Starts the thread, which loads its code in about a second. Its stages wait for `start`.
   * @param health shows the parts of the thread, too
   */
  constructor(health: HealthBoard) {
    this.#worker = new Worker(ENTRY);
    let failure = 'the thread of the pushing stages ended';
    this.#ended = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        resolve();
      });
    });
    this.#worker.on('error', (error) => {
      failure = error.stack ?? error.message;
    });
    this.#ready = new Promise((resolve) => {
      this.#worker.on('message', (message: FromStageThread) => {
        switch (message.kind) {
          case 'ready':
            resolve();
            return;
          case 'health':
            health.include('push', message.parts);
            return;
          case 'metrics':
            for (const answer of this.#asking.splice(0)) answer(message.measured);
            return;
          case 'failed':
            failure = message.reason;
        }
      });
    });
    this.died = this.#ended.then(() => (this.#isStopping ? new Promise<never>(() => undefined) : new Error(failure)));
  }

  /** Starts the thread's stages, once their servers are known. */
  start(environment: Environment): void {
    this.#worker.postMessage({ kind: 'start', environment: { ...environment } } satisfies ToStageThread);
  }

  /** Resolves once its stages run. @throws the error of the stages, or the signal's reason */
  async ready(signal: AbortSignal): Promise<void> {
    const died = this.died.then((error) => Promise.reject(error));
    const stopped = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => {
        reject(signal.reason as Error);
      });
    });
    await Promise.race([this.#ready, died, stopped]);
  }

  /** Returns the metrics of its stages. */
  measured(): Promise<MeasuredMetrics> {
    return new Promise((resolve) => {
      this.#asking.push(resolve);
      if (this.#asking.length === 1) this.#worker.postMessage({ kind: 'measure' } satisfies ToStageThread);
    });
  }

  /** Finishes the work in progress; may be called more than once. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#worker.postMessage({ kind: 'stop' } satisfies ToStageThread);
    await this.#ended;
  }
}
