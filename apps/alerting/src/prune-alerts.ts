import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { AlertOutbox, Store } from '#libs/feed-store';
import { CLOCK, CONFIG, LOGGER } from '#libs/platform';
import type { Config, Logger } from '#libs/runtime';

const PRUNE_EVERY_MS = 600_000;
const BATCH = 1_000;

/** Forgets alerts that are older than the events of the feed. */
@Injectable()
export class PruneAlerts implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #outbox: AlertOutbox;
  #timer: NodeJS.Timeout | null = null;
  #pruning: Promise<void> | null = null;

  constructor(
    private readonly store: Store,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#outbox = new AlertOutbox(store);
  }

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => {
      this.#pruning ??= this.#prune().finally(() => {
        this.#pruning = null;
      });
    }, PRUNE_EVERY_MS);
  }

  async beforeApplicationShutdown(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#pruning;
  }

  async #prune(): Promise<void> {
    if (!this.store.isOpen) return;
    const before = new Date(this.clock.now() - this.config.retentionMs);
    try {
      while ((await this.#outbox.prune(before, BATCH)) === BATCH);
    } catch (error) {
      this.logger.warn({ err: error }, 'alerting.pruning_waits');
    }
  }
}
