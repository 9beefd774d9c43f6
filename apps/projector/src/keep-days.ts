import { Injectable } from '@nestjs/common';
import { LOG_MARGIN_MS } from '#libs/kafka-log';
import { DayPartitions, earlierClock, EndpointVersions, InactivePeriods, Store } from '#libs/postgres';
import { RegularWork, StageKit } from '#libs/platform';
import { DAY_MS } from '#libs/runtime';

const LOOK_EVERY_MS = 600_000;
/** Soon after the start, so that the first event of a day does not wait for its tables. */
const FIRST_LOOK_MS = 5_000;
/** How long one look removes rows. The next one goes on. */
const PRUNE_FOR_MS = 60_000;

/**
 * Keeps a table for today and tomorrow, and drops those of days past retention (contract 9). Removes the configurations
 * of endpoints that no stored event met, and the periods in which they were inactive from before all that is in the log.
 */
@Injectable()
export class KeepDays extends RegularWork {
  readonly #others = new WeakMap<Store, DayPartitions>();

  constructor(
    private readonly store: Store,
    private readonly days: DayPartitions,
    private readonly versions: EndpointVersions,
    private readonly periods: InactivePeriods,
    private readonly kit: StageKit,
  ) {
    super({ everyMs: LOOK_EVERY_MS, firstAfterMs: FIRST_LOOK_MS });
    this.#measure();
  }

  protected async act(signal: AbortSignal): Promise<undefined> {
    const nowMs = this.kit.clock.now();
    const { all, reachable } = this.store.feed;
    let isComplete = reachable.length === all.length;
    const others = reachable.filter(({ store }) => store !== this.store);
    const pruneRows = async (rows: EndpointVersions | InactivePeriods, keptForMs: number) => {
      const before = new Date((await earlierClock(this.store, nowMs)) - keptForMs);
      if (!(await this.#prune(rows, before, signal))) isComplete = false;
    };
    const { retentionMs } = this.kit.config;
    // One part that waits, for a lock or a database, keeps no other from its work.
    const outcomes = await Promise.allSettled([
      this.#keep(this.days, nowMs, signal),
      // A day more, because clocks differ.
      pruneRows(this.versions, retentionMs + DAY_MS),
      // The router may read all of the log again.
      pruneRows(this.periods, retentionMs + LOG_MARGIN_MS + DAY_MS),
      ...others.map(({ store, name }) =>
        this.#keep(this.#daysOf(store), nowMs, signal).catch((error: unknown) => {
          isComplete = false;
          if (!signal.aborted) this.kit.logger.warn({ err: error, server: name }, 'projector.pruning_waits');
        }),
      ),
    ]);
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    if (isComplete) this.#measure();
  }

  /** @returns whether everything from before that time is removed */
  async #prune(rows: EndpointVersions | InactivePeriods, before: Date, signal: AbortSignal): Promise<boolean> {
    const untilMs = performance.now() + PRUNE_FOR_MS;
    while (!signal.aborted && performance.now() < untilMs) if (await rows.prune(before)) return true;
    return false;
  }

  #measure(): void {
    this.kit.metrics.set('gapless_pruned_timestamp_seconds', {}, this.kit.clock.now() / 1_000);
  }

  async #keep(days: DayPartitions, nowMs: number, signal: AbortSignal): Promise<void> {
    await days.ensure([nowMs, nowMs + DAY_MS]);
    const dropped = await days.prune(nowMs, this.kit.config.retentionMs, signal);
    if (dropped.length > 0) this.kit.logger.info({ tables: dropped }, 'projector.pruned');
  }

  #daysOf(store: Store): DayPartitions {
    const days = this.#others.get(store) ?? new DayPartitions(store);
    this.#others.set(store, days);
    return days;
  }

  protected failed(error: unknown): void {
    this.kit.logger.warn({ err: error }, 'projector.pruning_waits');
  }
}
