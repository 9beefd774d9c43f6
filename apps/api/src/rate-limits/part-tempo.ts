/** A part that takes this much longer than on a quiet machine had to wait for others, milliseconds. */
const BUSY_MS = 10;
/** Parts become smaller from here on. */
const TOO_LONG_MS = 20;
/** A part rests for this many times the milliseconds that the one before it had to wait … */
const RESTS = 5;
/** A timer that fires this late had to wait for other work of the thread, milliseconds. An idle one is off by 1. */
const LATE_MS = 1.5;
/** Parts become smaller from here on. */
const TOO_LATE_MS = 4;
/** A part rests for this many times the milliseconds that its timer was late … */
const RESTS_AFTER_LATE = 40;
/** … but at most this long, milliseconds. */
const LONGEST_REST_MS = 1_000;
/** An acknowledgement that takes longer than this is not what it takes on a quiet machine. */
const LONGEST_QUIET_MS = 50;
/** For how long the shortest acknowledgement counts as that of a quiet machine, at least. */
const REMEMBER_MS = 10_000;
const GROWTH = 1.25;

/**
 * The size of the parts of large requests, and the rests between them. Both follow from how long earlier parts took to
 * be acknowledged, and from how late timers fire: a stage that is busy, or a machine that is, makes them wait. Then parts
 * become smaller and rarer, so that other requests find short queues.
 */
export class PartTempo {
  #size: number;
  #restsUntilMs = -Infinity;
  /** The shortest acknowledgements of the present and the previous period. */
  #shortest: readonly [present: number, previous: number] = [Infinity, Infinity];
  #periodBeganMs = -Infinity;

  /**
   * @param fewest the events of a part on a busy machine
   * @param most the events of a part on a quiet machine
   */
  constructor(
    private readonly fewest: number,
    private readonly most: number,
  ) {
    this.#size = fewest;
  }

  /** How many events the next part may have. */
  get size(): number {
    return Math.floor(this.#size);
  }

  /** Until when no part begins; milliseconds of a monotonic clock. */
  get restsUntilMs(): number {
    return this.#restsUntilMs;
  }

  /** Learns from a part that was acknowledged just now. */
  took(tookMs: number, nowMs: number): void {
    const waitedMs = tookMs - this.#quietMs(tookMs, nowMs);
    if (waitedMs > TOO_LONG_MS) this.#size = Math.max(this.fewest, this.#size / 2);
    else if (waitedMs < BUSY_MS) this.#size = Math.min(this.most, this.#size * GROWTH);
    if (waitedMs >= BUSY_MS) this.#rest(RESTS * waitedMs, nowMs);
  }

  /** Learns from a timer that fired just now. Brokers far away do not delay it, so it shows less work than `took`. */
  fired(lateMs: number, nowMs: number): void {
    if (lateMs > TOO_LATE_MS) this.#size = Math.max(this.fewest, this.#size / 2);
    if (lateMs > LATE_MS) this.#rest(RESTS_AFTER_LATE * lateMs, nowMs);
  }

  #rest(forMs: number, nowMs: number): void {
    this.#restsUntilMs = Math.max(this.#restsUntilMs, nowMs + Math.min(LONGEST_REST_MS, forMs));
  }

  /** Returns how long an acknowledgement takes while nothing else happens. */
  #quietMs(tookMs: number, nowMs: number): number {
    const [present, previous] = this.#shortest;
    if (nowMs - this.#periodBeganMs < REMEMBER_MS) {
      this.#shortest = [Math.min(present, tookMs), previous];
    } else {
      this.#periodBeganMs = nowMs;
      this.#shortest = [tookMs, present];
    }
    return Math.min(...this.#shortest, LONGEST_QUIET_MS);
  }
}
