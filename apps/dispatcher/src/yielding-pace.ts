/** Attempts a second that the slow lane makes while the main lane serves others. */
const YIELDING_PER_SECOND = 200;
/** Attempts that may begin together after a pause. */
const BURST = 4;

/**
 * Slows the slow lane down while the main lane serves endpoints within their share. Both lanes share the processor, so
 * attempts beyond a share must not delay those endpoints.
 */
export class YieldingPace {
  #tokens = BURST;
  #filledAtMs: number;

  /**
   * @param nowMs monotonic milliseconds
   * @param yields whether the main lane is serving others
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
