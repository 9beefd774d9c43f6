import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { AlertOutbox, Store } from '#libs/postgres';
import { CLOCK, CONFIG, LOGGER } from '#libs/platform';
import { Regularly, type Config, type Logger } from '#libs/runtime';

const PRUNE_EVERY_MS = 600_000;
const BATCH = 1_000;

/** Forgets alerts that are older than the events of the feed. */
@Injectable()
export class PruneAlerts implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #pruning: Regularly;

  constructor(
    store: Store,
    outbox: AlertOutbox,
    @Inject(CONFIG) config: Config,
    @Inject(CLOCK) clock: Clock,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.#pruning = new Regularly({
      everyMs: PRUNE_EVERY_MS,
      act: async (signal) => {
        if (!store.isOpen) return undefined;
        const before = new Date(clock.now() - config.retentionMs);
        while (!signal.aborted && (await outbox.prune(before, BATCH)) === BATCH);
        return undefined;
      },
      onFailure: (error) => {
        logger.warn({ err: error }, 'alerting.pruning_waits');
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
