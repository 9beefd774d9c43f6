/** How often to check that this thread is not blocked. */
const TICK_MS = 50;
/** A tick that comes later than this shows that the thread was blocked. */
const LATE_AFTER_MS = 150;
/** A clock that nobody has read for this long stops ticking, so that a process at rest does not wake up for it. */
const UNREAD_MS = 1_000;

/**
 * A monotonic clock that stops while this thread is blocked, so that a busy process does not make endpoints look slow.
 */
export class AttentiveClock {
  #stoodMs = 0;
  #tickedAtMs = 0;
  #readAtMs = 0;
  #ticks: NodeJS.Timeout | null = null;

  constructor(private readonly monotonicMs: () => number = () => performance.now()) {}

  /** Returns the time in milliseconds. */
  nowMs(): number {
    this.#readAtMs = this.monotonicMs();
    if (this.#ticks === null) {
      this.#tickedAtMs = this.#readAtMs;
      this.#ticks = setInterval(() => {
        this.tick();
      }, TICK_MS).unref();
    }
    return this.#readAtMs - this.#stoodMs - this.#lateMs();
  }

  /** Whether it notices that the thread is blocked. */
  get isTicking(): boolean {
    return this.#ticks !== null;
  }

  stop(): void {
    if (this.#ticks !== null) clearInterval(this.#ticks);
    this.#ticks = null;
  }

  tick(): void {
    this.#stoodMs += this.#lateMs();
    this.#tickedAtMs = this.monotonicMs();
    if (this.#tickedAtMs - this.#readAtMs > UNREAD_MS) this.stop();
  }

  #lateMs(): number {
    return Math.max(0, this.monotonicMs() - this.#tickedAtMs - LATE_AFTER_MS);
  }
}
