import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { DayPartitions, Store } from '#libs/feed-store';
import { CLOCK, CONFIG, LOGGER } from '#libs/platform';
import { DAY_MS, type Config, type Logger } from '#libs/runtime';

const LOOK_EVERY_MS = 600_000;
/** Soon after the start, so that the first event of a day does not wait for its tables. */
const FIRST_LOOK_MS = 5_000;

/** Keeps a table for today and tomorrow, and none for days past retention (contract 9): a day is dropped, never deleted. */
@Injectable()
export class KeepDays implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #days: DayPartitions;
  readonly #timers: NodeJS.Timeout[] = [];
  #looking: Promise<void> | null = null;

  constructor(
    private readonly store: Store,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#days = new DayPartitions(store);
  }

  onApplicationBootstrap(): void {
    const look = () => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null;
      });
    };
    this.#timers.push(setTimeout(look, FIRST_LOOK_MS), setInterval(look, LOOK_EVERY_MS));
  }

  async beforeApplicationShutdown(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    if (!this.store.isOpen) return;
    const nowMs = this.clock.now();
    try {
      await this.#days.ensure([nowMs, nowMs + DAY_MS]);
      const dropped = await this.#days.drop(nowMs - this.config.retentionMs);
      if (dropped.length > 0) this.logger.info({ tables: dropped }, 'projector.pruned');
    } catch (error) {
      this.logger.warn({ err: error }, 'projector.pruning_waits');
    }
  }
}
