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
  /** @returns whether the attempt takes the result; if not, it is looked up again later */
  readonly takes: (found: DispatchLookupResult | UnreadableTarget) => boolean;
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

  /**
   * Waits for Postgres for as long as it takes, and for an endpoint that cannot be read.
   * @throws the signal's reason once it is aborted
   */
  find(due: DueAttempt): Promise<DispatchLookupResult> {
    return new Promise((resolve, reject) => {
      this.#ask({
        due,
        takes: (found) => {
          if (found.kind === 'unreadable') return false;
          resolve(found);
          return true;
        },
        reject,
      });
    });
  }

  /** Waits for Postgres alone. @throws the signal's reason once it is aborted */
  look(due: DueAttempt): Promise<DispatchLookupResult | UnreadableTarget> {
    return new Promise((resolve, reject) => {
      this.#ask({
        due,
        takes: (found) => {
          resolve(found);
          return true;
        },
        reject,
      });
    });
  }

  #ask(waiting: Waiting): void {
    this.#waiting.push(waiting);
    if (!this.#asking) void this.#askAll();
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
        const results = batch.map((_, index) => found[index] ?? ({ kind: 'gone' } as const));
        this.#reportUnreadable(batch, results);
        const left = batch.filter((waiting, index) => !waiting.takes(results[index] ?? { kind: 'gone' }));
        if (left.length > 0) void this.#askLater(left);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#asking = false;
  }

  #reportUnreadable(batch: readonly Waiting[], results: readonly (DispatchLookupResult | UnreadableTarget)[]): void {
    const unreadable = results.flatMap((result, index) =>
      result.kind === 'unreadable' ? [{ ...result, due: batch[index]?.due }] : [],
    );
    if (unreadable.length === 0) return;
    this.logger.error(
      {
        err: unreadable[0]?.error,
        endpoint_id: unreadable[0]?.due?.delivery.endpointId,
        attempts: unreadable.length,
      },
      'dispatcher.endpoint_unreadable',
    );
  }

  /** Lets the attempts wait, and no others. */
  async #askLater(waiting: readonly Waiting[]): Promise<void> {
    await delay(UNREADABLE_WAIT_MS, undefined, { signal: this.signal, ref: false }).catch(() => undefined);
    this.#waiting.push(...waiting);
    if (!this.#asking) void this.#askAll();
  }
}
