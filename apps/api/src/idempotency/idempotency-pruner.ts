import { Inject, Injectable } from '@nestjs/common';
import { IdempotencyRecords } from '#libs/postgres';
import { LOGGER, RegularWork } from '#libs/platform';
import type { Logger } from '#libs/runtime';

const EVERY_MS = 10 * 60 * 1_000;

/** Deletes expired answers. Every process may do so. */
@Injectable()
export class IdempotencyPruner extends RegularWork {
  constructor(
    private readonly records: IdempotencyRecords,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super({ everyMs: EVERY_MS });
  }

  protected async act(): Promise<undefined> {
    const pruned = await this.records.prune();
    if (pruned > 0) this.logger.info({ pruned }, 'idempotency.pruned');
  }

  protected failed(error: unknown): void {
    this.logger.warn({ err: error }, 'idempotency.not_pruned');
  }
}
