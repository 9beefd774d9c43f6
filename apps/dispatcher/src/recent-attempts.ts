import type { DueAttempt } from '#libs/domain';

/**
 * Knows which attempts were begun of late. An attempt may stand in a topic twice (two replays at the same moment, a
 * produce request that was repeated), and until the projection shows the first one, the second looks as if it were due.
 */
export class RecentAttempts {
  #young = new Set<string>();
  #old = new Set<string>();
  #turnsAtMs: number;

  /** @param keepMs for how long an attempt is known at least */
  constructor(
    private readonly keepMs: number,
    private readonly nowMs: () => number,
  ) {
    this.#turnsAtMs = nowMs() + keepMs;
  }

  /** @returns whether the attempt was not begun before */
  begin({ delivery, run, attempt }: DueAttempt): boolean {
    this.#forget();
    const key = `${delivery.deliveryId}/${run}/${attempt}`;
    if (this.#young.has(key) || this.#old.has(key)) return false;
    this.#young.add(key);
    return true;
  }

  /** By generations, so that nothing has to be remembered but the keys. */
  #forget(): void {
    const nowMs = this.nowMs();
    if (nowMs < this.#turnsAtMs) return;
    this.#turnsAtMs = nowMs + this.keepMs;
    this.#old = this.#young;
    this.#young = new Set();
  }
}
