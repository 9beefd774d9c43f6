import { setTimeout as delay } from 'node:timers/promises';
import type { DueAttempt } from '#libs/domain';
import type { DispatchLookupResult, EndpointDirectory, UnreadableTarget } from '#libs/postgres';
import { untilItWorks, type Logger } from '#libs/runtime';

/** Attempts that are looked up with one query. */
const BATCH = 256;
/** How long the attempts of an endpoint that cannot be read wait before it is read again. */
const UNREADABLE_WAIT_MS = 5_000;

interface Waiting {
  readonly due: DueAttempt;
  readonly resolve: (found: DispatchLookupResult) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Looks up the endpoint and the delivery of each attempt right before the push. So a new secret, a new url or the end
 * of the endpoint takes effect at once. Requests during a query share the next one.
 */
export class DispatchLookup {
  #waiting: Waiting[] = [];
  #asking = false;

  constructor(
    private readonly directory: EndpointDirectory,
    private readonly logger: Logger,
    private readonly signal: AbortSignal,
  ) {}

  /** Waits for Postgres for as long as it takes. @throws the signal's reason once it is aborted */
  find(due: DueAttempt): Promise<DispatchLookupResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ due, resolve, reject });
      if (!this.#asking) void this.#askAll();
    });
  }

  async #askAll(): Promise<void> {
    this.#asking = true;
    // Requests of the same turn of the event loop share the first query, too.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH);
      try {
        const found = await untilItWorks(() => this.directory.lookUp(batch.map(({ due }) => due)), {
          signal: this.signal,
          onFailure: (error, failures, waitMs) => {
            this.logger.warn({ err: error, failures, wait_ms: waitMs }, 'dispatcher.waiting');
          },
        });
        const unreadable: (readonly [Waiting, UnreadableTarget])[] = [];
        for (const [index, waiting] of batch.entries()) {
          const result = found[index] ?? ({ kind: 'gone' } as const);
          if (result.kind === 'unreadable') unreadable.push([waiting, result]);
          else waiting.resolve(result);
        }
        if (unreadable.length > 0) void this.#askLater(unreadable);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#asking = false;
  }

  /** Lets the attempts wait, and no others. */
  async #askLater(unreadable: readonly (readonly [Waiting, UnreadableTarget])[]): Promise<void> {
    const waiting = unreadable.map(([one]) => one);
    this.logger.error(
      {
        err: unreadable[0]?.[1].error,
        endpoint_id: waiting[0]?.due.delivery.endpointId,
        attempts: waiting.length,
        wait_ms: UNREADABLE_WAIT_MS,
      },
      'dispatcher.waiting',
    );
    await delay(UNREADABLE_WAIT_MS, undefined, { signal: this.signal, ref: false }).catch(() => undefined);
    this.#waiting.push(...waiting);
    if (!this.#asking) void this.#askAll();
  }
}
