import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { DayPartitions, Store } from '#libs/postgres';
import { CLOCK, CONFIG, LOGGER } from '#libs/platform';
import { DAY_MS, Regularly, type Config, type Logger } from '#libs/runtime';

const LOOK_EVERY_MS = 600_000;
/** Soon after the start, so that the first event of a day does not wait for its tables. */
const FIRST_LOOK_MS = 5_000;

/** Keeps a table for today and tomorrow, and none for days past retention (contract 9): a day is dropped, never deleted. */
@Injectable()
export class KeepDays implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #looks: Regularly;

  constructor(
    private readonly store: Store,
    private readonly days: DayPartitions,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#looks = new Regularly({
      everyMs: LOOK_EVERY_MS,
      firstAfterMs: FIRST_LOOK_MS,
      act: () => this.#look(),
      onFailure: (error) => {
        logger.warn({ err: error }, 'projector.pruning_waits');
      },
    });
  }

  onApplicationBootstrap(): void {
    this.#looks.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#looks.stop();
  }

  async #look(): Promise<undefined> {
    if (!this.store.isOpen) return;
    const nowMs = this.clock.now();
    await this.days.ensure([nowMs, nowMs + DAY_MS]);
    const dropped = await this.days.drop(nowMs - this.config.retentionMs);
    if (dropped.length > 0) this.logger.info({ tables: dropped }, 'projector.pruned');
  }
}
