import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { IdempotencyRecords } from '#libs/postgres';
import { LOGGER } from '#libs/platform';
import { Regularly, type Logger } from '#libs/runtime';

const INTERVAL_MS = 10 * 60 * 1_000;

/** Deletes answers that are past their time; that every process does so does no harm. */
@Injectable()
export class IdempotencyPruner implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #pruning: Regularly;

  constructor(records: IdempotencyRecords, @Inject(LOGGER) logger: Logger) {
    this.#pruning = new Regularly({
      everyMs: INTERVAL_MS,
      act: async () => {
        const pruned = await records.prune();
        if (pruned > 0) logger.info({ pruned }, 'idempotency.pruned');
        return undefined;
      },
      onFailure: (error) => {
        logger.warn({ err: error }, 'idempotency.not_pruned');
      },
    });
  }

  onApplicationBootstrap(): void {
    this.#pruning.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#pruning.stop();
  }
}
