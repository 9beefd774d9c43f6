import type { DueAttempt } from '#libs/domain';

/** An event that is twice in the log may have two deliveries with the same id, which differ in when they were created. */
function keyOf({ delivery, run, attempt }: DueAttempt): string {
  return `${delivery.deliveryId}/${delivery.createdAtMs}/${run}/${attempt}`;
}

/**
 * How the making of an attempt ended. `left`: it was not made, and whatever follows from that is done. `withdrawn`: it was
 * not made, and is still due.
 */
export type MakingEnd = 'made' | 'left' | 'withdrawn';

/**
 * Remembers recent attempts. A topic can hold an attempt twice (two replays at the same moment, a repeated produce
 * request). Until the projection shows the first one, the second one looks due.
 */
export class RecentAttempts {
  #young = new Set<string>();
  #old = new Set<string>();
  /** The attempts in flight. */
  readonly #making = new Map<string, Promise<MakingEnd>>();
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
   * Makes the attempt unless it was begun before. If the call that began it does not make it, the next one that waits tries:
   * what that call left to others may be meant for this one.
   * @param make called with whether this call has waited for another one
   * @returns a promise that settles once the attempt has ended, whichever call made it
   */
  async once(due: DueAttempt, make: (hasWaited: boolean) => Promise<MakingEnd>): Promise<void> {
    this.#forget();
    const key = keyOf(due);
    let hasWaited = false;
    for (let making = this.#making.get(key); making !== undefined; making = this.#making.get(key)) {
      hasWaited = true;
      if ((await making) === 'made') return;
    }
    if (this.#young.has(key) || this.#old.has(key)) return;
    this.#young.add(key);
    const made = make(hasWaited)
      .then((end) => {
        if (end === 'made') return end;
        this.#young.delete(key);
        this.#old.delete(key);
        return end;
      })
      .finally(() => {
        this.#making.delete(key);
      });
    this.#making.set(key, made);
    await made;
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
