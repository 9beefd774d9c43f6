import type { DueAttempt } from '#libs/domain';

function keyOf({ delivery, run, attempt }: DueAttempt): string {
  return `${delivery.deliveryId}/${run}/${attempt}`;
}

/**
 * Knows which attempts were begun of late. An attempt may stand in a topic twice (two replays at the same moment, a
 * produce request that was repeated), and until the projection shows the first one, the second looks as if it were due.
 */
export class RecentAttempts {
  #young = new Set<string>();
  #old = new Set<string>();
  /** What is being made of them. */
  readonly #making = new Map<string, Promise<void>>();
  #turnsAtMs: number;

  /** @param keepMs for how long an attempt is known at least */
  constructor(
    private readonly keepMs: number,
    private readonly nowMs: () => number,
  ) {
    this.#turnsAtMs = nowMs() + keepMs;
  }

  /**
   * Makes the attempt unless it was begun before.
   * @returns what settles once the attempt has ended, whoever began it
   */
  once(due: DueAttempt, make: () => Promise<void>): Promise<void> {
    this.#forget();
    const key = keyOf(due);
    const making = this.#making.get(key);
    if (making !== undefined) return making;
    if (this.#young.has(key) || this.#old.has(key)) return Promise.resolve();
    this.#young.add(key);
    const made = make().finally(() => {
      this.#making.delete(key);
    });
    this.#making.set(key, made);
    return made;
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
