import { Inject, Injectable } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { EndpointRecords } from '#libs/postgres';
import { CLOCK, LOGGER, RegularWork } from '#libs/platform';
import type { Logger } from '#libs/runtime';

const EVERY_MS = 60 * 1_000;

/** Deletes secrets whose overlap is over. Every process may do so. */
@Injectable()
export class PreviousSecretPruner extends RegularWork {
  constructor(
    private readonly endpoints: EndpointRecords,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super({ everyMs: EVERY_MS });
  }

  protected async act(): Promise<undefined> {
    const pruned = await this.endpoints.forgetPreviousSecrets(new Date(this.clock.now()));
    if (pruned > 0) this.logger.info({ pruned }, 'secrets.pruned');
  }

  protected failed(error: unknown): void {
    this.logger.warn({ err: error }, 'secrets.not_pruned');
  }
}
