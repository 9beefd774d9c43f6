import type { DueAttempt } from '#libs/domain';
import type { DispatchLookupResult, EndpointDirectory } from '#libs/postgres';
import { untilItWorks, type Logger } from '#libs/runtime';

/** Attempts that are looked up with one query. */
const BATCH = 256;

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
        for (const [index, { resolve }] of batch.entries()) resolve(found[index] ?? { kind: 'gone' });
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#asking = false;
  }
}
