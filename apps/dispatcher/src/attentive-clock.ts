/** How often it looks whether this thread runs. */
const TICK_MS = 50;
/** A tick that comes later than this was held up. */
const LATE_AFTER_MS = 150;

/**
 * A monotonic clock that stands still while this thread does: answers that waited for a busy process, and not for their
 * endpoint, do not make the endpoint slow.
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

  /** Milliseconds. */
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
