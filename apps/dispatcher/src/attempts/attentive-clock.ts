/** How often to check that this thread is not blocked. */
const TICK_MS = 50;
/** A tick that comes later than this shows that the thread was blocked. */
const LATE_AFTER_MS = 150;

/**
 * A monotonic clock that stops while this thread is blocked, so that a busy process does not make endpoints look slow.
 */
export class AttentiveClock {
  #stoodMs = 0;
  #tickedAtMs: number;
  readonly #ticks: NodeJS.Timeout;

  constructor(private readonly monotonicMs: () => number = () => performance.now()) {
    this.#tickedAtMs = monotonicMs();
    this.#ticks = setInterval(() => {
      this.tick();
    }, TICK_MS).unref();
  }

  /** Returns the time in milliseconds. */
  nowMs(): number {
    return this.monotonicMs() - this.#stoodMs - this.#lateMs();
  }

  stop(): void {
    clearInterval(this.#ticks);
  }

  tick(): void {
    this.#stoodMs += this.#lateMs();
    this.#tickedAtMs = this.monotonicMs();
  }

  #lateMs(): number {
    return Math.max(0, this.monotonicMs() - this.#tickedAtMs - LATE_AFTER_MS);
  }
}
