import type { DueAttempt } from '#libs/domain';

function keyOf({ delivery, run, attempt }: DueAttempt): string {
  return `${delivery.deliveryId}/${run}/${attempt}`;
}

/**
 * Remembers recent attempts. A topic can hold an attempt twice (two replays at the same moment, a repeated produce
 * request). Until the projection shows the first one, the second one looks due.
 */
export class RecentAttempts {
  #young = new Set<string>();
  #old = new Set<string>();
  /** The attempts in flight. */
  readonly #making = new Map<string, Promise<void>>();
  #turnsAtMs: number;

  /**
   * @param keepMs the least time for which an attempt is remembered
   * @param nowMs monotonic milliseconds: if a clock were set back, everything would be remembered until it is there again
   */
  constructor(
    private readonly keepMs: number,
    private readonly nowMs: () => number,
  ) {
    this.#turnsAtMs = nowMs() + keepMs;
  }

  /**
   * Makes the attempt unless it was begun before.
   * @param make returns whether it was made; otherwise it can be made later
   * @returns a promise that settles once the attempt has ended, whichever call began it
   */
  once(due: DueAttempt, make: () => Promise<boolean>): Promise<void> {
    this.#forget();
    const key = keyOf(due);
    const making = this.#making.get(key);
    if (making !== undefined) return making;
    if (this.#young.has(key) || this.#old.has(key)) return Promise.resolve();
    this.#young.add(key);
    const made = make()
      .then((isMade) => {
        if (isMade) return;
        this.#young.delete(key);
        this.#old.delete(key);
      })
      .finally(() => {
        this.#making.delete(key);
      });
    this.#making.set(key, made);
    return made;
  }

  /** Forgets old attempts by generation, so that only the keys have to be stored. */
  #forget(): void {
    const nowMs = this.nowMs();
    if (nowMs < this.#turnsAtMs) return;
    this.#turnsAtMs = nowMs + this.keepMs;
    this.#old = this.#young;
    this.#young = new Set();
  }
}
