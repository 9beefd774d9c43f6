import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { IdempotencyRecords } from '#libs/feed-store';
import { LOGGER } from '#libs/platform';
import type { Logger } from '#libs/runtime';

const INTERVAL_MS = 10 * 60 * 1_000;

/** Deletes answers that are past their time; that every process does so does no harm. */
@Injectable()
export class IdempotencyPruner implements OnApplicationBootstrap, BeforeApplicationShutdown {
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly records: IdempotencyRecords,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => void this.#prune(), INTERVAL_MS).unref();
  }

  beforeApplicationShutdown(): void {
    clearInterval(this.#timer);
  }

  async #prune(): Promise<void> {
    try {
      const pruned = await this.records.prune();
      if (pruned > 0) this.logger.info({ pruned }, 'idempotency.pruned');
    } catch (error) {
      this.logger.warn({ err: error }, 'idempotency.not_pruned');
    }
  }
}
