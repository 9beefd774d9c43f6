import { Inject, Injectable } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { DayPartitions, EndpointVersions, Store } from '#libs/postgres';
import { CLOCK, CONFIG, LOGGER, RegularWork } from '#libs/platform';
import { DAY_MS, type Config, type Logger } from '#libs/runtime';

const LOOK_EVERY_MS = 600_000;
/** Soon after the start, so that the first event of a day does not wait for its tables. */
const FIRST_LOOK_MS = 5_000;

/**
 * Keeps a table for today and tomorrow, and drops those of days past retention (contract 9). Removes the configurations
 * of endpoints that no stored event met.
 */
@Injectable()
export class KeepDays extends RegularWork {
  readonly #others = new Map<Store, DayPartitions>();

  constructor(
    private readonly store: Store,
    private readonly days: DayPartitions,
    private readonly versions: EndpointVersions,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super({ everyMs: LOOK_EVERY_MS, firstAfterMs: FIRST_LOOK_MS });
  }

  /** One part that waits, for a lock or a database, keeps no other from its work. */
  protected async act(): Promise<undefined> {
    const nowMs = this.clock.now();
    await this.#orWait('main', () => this.#keep(this.days, nowMs));
    for (const { store, name } of this.store.feed.reachable) {
      if (store !== this.store) await this.#orWait(name, () => this.#keep(this.#daysOf(store), nowMs));
    }
    // A day more, because clocks differ.
    await this.versions.prune(new Date(nowMs - this.config.retentionMs - DAY_MS));
  }

  async #orWait(server: string, keep: () => Promise<void>): Promise<void> {
    await keep().catch((error: unknown) => {
      this.logger.warn({ err: error, server }, 'projector.pruning_waits');
    });
  }

  async #keep(days: DayPartitions, nowMs: number): Promise<void> {
    await days.ensure([nowMs, nowMs + DAY_MS]);
    const dropped = await days.prune(nowMs, this.config.retentionMs);
    if (dropped.length > 0) this.logger.info({ tables: dropped }, 'projector.pruned');
  }

  #daysOf(store: Store): DayPartitions {
    const days = this.#others.get(store) ?? new DayPartitions(store);
    this.#others.set(store, days);
    return days;
  }

  protected failed(error: unknown): void {
    this.logger.warn({ err: error }, 'projector.pruning_waits');
  }
}
