import type { Clock } from '#libs/domain';
import type { NextThresholds } from '#libs/postgres';

/** The shortest time between two looks for passed thresholds, milliseconds. What passes meanwhile is swept together. */
export const SPACING_MS = 50;
/** Sweeps of a partition that may wait for its queue to be caught up. More of them would not be earlier. */
const MOST_AT_A_TIME = 8;
/** After a sweep that worked longer than this, its partitions rest as long as it worked, milliseconds. */
const LIGHT_MS = 250;
const LONGEST_REST_MS = 1_000;
/** How long before a threshold its sweep is prepared, milliseconds: longer than the fold gathers records. */
export const PREPARED_MS = 300;
/** The longest that a timer takes; an earlier look changes nothing. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface EarlySweepsUse {
  /** The partitions whose log this process folds now. */
  readonly owned: () => readonly number[];
  /** Finds the thresholds after `sinceMs`. */
  readonly lookUp: (partitions: readonly number[], sinceMs: number, nowMs: number) => Promise<NextThresholds>;
  /** Called a moment before the next threshold. */
  readonly prepare: () => void;
  /**
   * Sweeps the partitions.
   * @returns how long that was work, milliseconds, and the partitions where more is due
   */
  readonly sweep: (
    partitions: ReadonlySet<number>,
  ) => Promise<{ readonly workedMs: number; readonly left: readonly number[] }>;
  /** Called if no sweep follows until the next `look`. */
  readonly onFailure: (error: unknown) => void;
  readonly clock: Clock;
}

/**
 * Sweeps at the moment at which a chat passes a threshold. It knows only the next threshold: by a look into Postgres
 * after each sweep, and from the fold for chats that come meanwhile. So it does nothing while nobody waits. It covers
 * the partitions that this process folds; everything else is left to the regular sweep: other partitions, thresholds
 * that a setting moves, clocks that are set, and failures.
 */
export class EarlySweeps {
  /** The next threshold, epoch milliseconds. */
  #nextMs = Infinity;
  /** Thresholds up to this time were found. */
  #foundToMs = 0;
  /** Partitions where a chat has passed a threshold. */
  readonly #due = new Set<number>();
  /** How many sweeps of a partition run. */
  readonly #sweeps = new Map<number, number>();
  /** The partitions that rest, with the end of their rest in milliseconds of the monotonic clock. */
  readonly #rests = new Map<number, number>();
  readonly #running = new Set<Promise<void>>();
  #isLooking = false;
  /** When the next look is allowed, in milliseconds of the monotonic clock. `Infinity` after a failure. */
  #notBefore = -Infinity;
  #isPrepared = false;
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;

  constructor(private readonly use: EarlySweepsUse) {}

  /** Notes that a chat of the partition passes a threshold at that time. */
  waits(partition: number, dueAtMs: number): void {
    if (dueAtMs <= this.use.clock.now()) this.#due.add(partition);
    else if (dueAtMs < this.#nextMs) this.#expect(dueAtMs);
    else return;
    this.#arm();
  }

  /** Looks for thresholds after `sweptToMs`. Those before it are left to the regular sweep. */
  look(sweptToMs: number): void {
    this.#foundToMs = sweptToMs;
    if (this.#notBefore === Infinity) this.#notBefore = -Infinity;
    this.#expect(this.use.clock.now());
    this.#arm();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await Promise.all(this.#running);
  }

  #expect(nextMs: number): void {
    this.#nextMs = nextMs;
    this.#isPrepared = false;
  }

  #arm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#isStopped || this.#isLooking || this.#notBefore === Infinity) return;
    const untilNextMs = this.#nextMs - this.use.clock.now();
    const untilRestedMs = Math.min(...this.#ready().map(({ restsMs }) => restsMs));
    const untilLookMs = Math.max(Math.min(untilNextMs, untilRestedMs), this.#notBefore - performance.now());
    if (untilLookMs === Infinity) return;
    const untilPreparedMs = this.#isPrepared || untilNextMs <= 0 ? Infinity : untilNextMs - PREPARED_MS;
    this.#timer = setTimeout(
      () => {
        this.#wake();
      },
      Math.min(LONGEST_TIMER_MS, Math.max(0, Math.min(untilLookMs, untilPreparedMs))),
    );
  }

  #wake(): void {
    if (this.use.clock.now() < this.#nextMs && this.#ready().every(({ restsMs }) => restsMs > 0)) {
      this.#isPrepared ||= this.#nextMs - this.use.clock.now() <= PREPARED_MS;
      if (this.#isPrepared) this.use.prepare();
      this.#arm();
      return;
    }
    this.#isLooking = true;
    this.#run(async () => {
      await this.#find();
      this.#isLooking = false;
      const ready = this.#ready().filter(({ restsMs }) => restsMs <= 0);
      const partitions = new Set(ready.map(({ partition }) => partition));
      for (const partition of partitions) this.#due.delete(partition);
      this.#arm();
      if (partitions.size > 0) await this.#sweep(partitions);
    });
  }

  /** The partitions to sweep, with the rest that is left to them, milliseconds. */
  #ready(): readonly { readonly partition: number; readonly restsMs: number }[] {
    const nowMs = performance.now();
    return [...this.#due]
      .filter((partition) => (this.#sweeps.get(partition) ?? 0) < MOST_AT_A_TIME)
      .map((partition) => ({ partition, restsMs: Math.max(0, (this.#rests.get(partition) ?? 0) - nowMs) }));
  }

  /** Finds the partitions with passed thresholds, and the next threshold. */
  async #find(): Promise<void> {
    const owned = this.use.owned();
    const nowMs = this.use.clock.now();
    this.#notBefore = performance.now() + SPACING_MS;
    this.#expect(Infinity);
    for (const partition of this.#due) if (!owned.includes(partition)) this.#due.delete(partition);
    // After a clock was set back, what is found already lies ahead.
    const sinceMs = Math.min(this.#foundToMs, nowMs);
    this.#foundToMs = nowMs;
    if (owned.length === 0) return;
    const { passed, nextMs } = await this.use.lookUp(owned, sinceMs, nowMs);
    for (const partition of passed) this.#due.add(partition);
    // Meanwhile the fold may have noted an earlier one.
    if (nextMs < this.#nextMs) this.#expect(nextMs);
  }

  async #sweep(partitions: ReadonlySet<number>): Promise<void> {
    const count = (by: number) => {
      for (const partition of partitions) this.#sweeps.set(partition, (this.#sweeps.get(partition) ?? 0) + by);
    };
    count(1);
    try {
      const { workedMs, left } = await this.use.sweep(partitions);
      for (const partition of left) this.#due.add(partition);
      if (workedMs > LIGHT_MS) {
        const until = performance.now() + Math.min(LONGEST_REST_MS, workedMs);
        for (const partition of partitions) this.#rests.set(partition, until);
      }
    } finally {
      count(-1);
      this.#arm();
    }
  }

  #run(act: () => Promise<void>): void {
    const running = act()
      .catch((error: unknown) => {
        this.#isLooking = false;
        this.#notBefore = Infinity;
        if (!this.#isStopped) this.use.onFailure(error);
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }
}
