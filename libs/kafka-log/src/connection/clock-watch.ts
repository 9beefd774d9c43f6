import type { Clock } from '#libs/domain';

/** Milliseconds. Slewing changes a clock by less between two checks; a larger difference is a step. */
const STEP_MS = 1_000;

/** Notices when the wall clock is set, by comparing it with the monotonic clock. */
export class ClockWatch {
  #differenceMs: number;

  constructor(
    private readonly clock: Clock,
    private readonly monotonicMs: () => number,
  ) {
    this.#differenceMs = clock.now() - monotonicMs();
  }

  /** Whether the clock was set since the last call. */
  wasSet(): boolean {
    const differenceMs = this.clock.now() - this.monotonicMs();
    const stepMs = Math.abs(differenceMs - this.#differenceMs);
    this.#differenceMs = differenceMs;
    return stepMs > STEP_MS;
  }
}
