import type { Clock } from '#libs/domain';

/** Clocks are slewed by less than this between two looks; what is more was a step. */
const STEP_MS = 1_000;

/** Notices when the wall clock is set: when it goes back or ahead against the monotonic one. */
export class ClockWatch {
  #differenceMs: number;

  constructor(
    private readonly clock: Clock,
    private readonly monotonicMs: () => number,
  ) {
    this.#differenceMs = clock.now() - monotonicMs();
  }

  /** Whether the clock was set since the last look. */
  wasSet(): boolean {
    const differenceMs = this.clock.now() - this.monotonicMs();
    const stepMs = Math.abs(differenceMs - this.#differenceMs);
    this.#differenceMs = differenceMs;
    return stepMs > STEP_MS;
  }
}
