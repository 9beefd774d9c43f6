import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { EndpointRecords } from '#libs/postgres';
import { CLOCK, LOGGER } from '#libs/platform';
import { Regularly, type Logger } from '#libs/runtime';

const INTERVAL_MS = 60 * 1_000;

/** Deletes secrets whose overlap is over; that every process does so does no harm. */
@Injectable()
export class PreviousSecretPruner implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #pruning: Regularly;

  constructor(endpoints: EndpointRecords, @Inject(CLOCK) clock: Clock, @Inject(LOGGER) logger: Logger) {
    this.#pruning = new Regularly({
      everyMs: INTERVAL_MS,
      act: async () => {
        const pruned = await endpoints.forgetPreviousSecrets(new Date(clock.now()));
        if (pruned > 0) logger.info({ pruned }, 'secrets.pruned');
        return undefined;
      },
      onFailure: (error) => {
        logger.warn({ err: error }, 'secrets.not_pruned');
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
