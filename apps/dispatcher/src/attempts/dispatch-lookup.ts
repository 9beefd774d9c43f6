import type { DueAttempt } from '#libs/domain';
import type { DispatchLookupResult, EndpointDirectory, UnreadableTarget } from '#libs/postgres';
import { untilItWorks, type Logger } from '#libs/runtime';

/** Attempts that are looked up with one query. */
const BATCH = 256;
/** Their deliveries, with the followers. More than that have several queries, so that none takes long. */
const DELIVERIES = 2_048;
/** How long attempts of paced and ordered endpoints wait before an endpoint that could not be read is looked up again. */
export const UNREADABLE_WAIT_MS = 5_000;

export type Found = DispatchLookupResult | UnreadableTarget;

interface Waiting {
  readonly due: DueAttempt;
  readonly resolve: (found: Found) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Looks up the endpoint and the deliveries of each attempt right before the push. So a new secret, a new url, a skip or
 * the end of the endpoint takes effect at once. Requests during a query share the next one.
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
  look(due: DueAttempt): Promise<Found> {
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
      const batch = this.#takeBatch();
      try {
        const found = await untilItWorks(() => this.directory.lookUp(batch.map(({ due }) => due)), {
          signal: this.signal,
          onFailure: (error, failures, waitMs) => {
            this.logger.warn({ err: error, failures, wait_ms: waitMs }, 'dispatcher.waiting');
          },
        });
        for (const [index, { resolve }] of batch.entries()) resolve(found[index] ?? { kind: 'gone' });
        this.#reportUnreadable(batch, found);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#asking = false;
  }

  #takeBatch(): readonly Waiting[] {
    let [attempts, deliveries] = [0, 0];
    for (const { due } of this.#waiting) {
      deliveries += 1 + (due.followers?.length ?? 0);
      if (attempts === BATCH || (attempts > 0 && deliveries > DELIVERIES)) break;
      attempts++;
    }
    return this.#waiting.splice(0, attempts);
  }

  #reportUnreadable(batch: readonly Waiting[], found: readonly Found[]): void {
    const unreadable = batch.filter((_, index) => found[index]?.kind === 'unreadable');
    const first = found.find(({ kind }) => kind === 'unreadable');
    if (first?.kind !== 'unreadable') return;
    this.logger.error(
      { err: first.error, endpoint_id: unreadable[0]?.due.delivery.endpointId, attempts: unreadable.length },
      'dispatcher.endpoint_unreadable',
    );
  }
}
