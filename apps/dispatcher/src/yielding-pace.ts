/** Attempts a second that the slow lane makes while the main lane serves others. */
const YIELDING_PER_SECOND = 200;
/** Attempts that may begin together after a pause. */
const BURST = 4;

/**
 * How fast the slow lane may go. What an endpoint could not take in its share must not slow down those that are content
 * with theirs, with which it shares the processor: while the main lane serves any of them, the slow lane goes slowly.
 */
export class YieldingPace {
  #tokens = BURST;
  #filledAtMs: number;

  /**
   * @param nowMs monotonic milliseconds
   * @param yields whether others are being served
   */
  constructor(
    private readonly nowMs: () => number,
    private readonly yields: () => boolean,
  ) {
    this.#filledAtMs = nowMs();
  }

  /** Takes the right to begin one attempt, if there is one now. */
  readonly take = (): boolean => {
    if (!this.yields()) return true;
    const nowMs = this.nowMs();
    this.#tokens = Math.min(BURST, this.#tokens + ((nowMs - this.#filledAtMs) * YIELDING_PER_SECOND) / 1_000);
    this.#filledAtMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  };
}
