/** The limits of the pushes that are not handled yet. */
interface PendingLimits {
  readonly maxPending?: number;
  readonly maxPendingBytes?: number;
}

interface Waiting {
  readonly bytes: number;
  readonly end: (hasRoom: boolean) => void;
}

const DEFAULT_MAX_PENDING = 1_000;
const DEFAULT_MAX_PENDING_BYTES = 64 * 1024 * 1024;
/** Half of the time that Gapless waits for an answer (contract 9). */
const MAX_WAIT_MS = 5_000;
/** Within this time, the work of a push begins that was let in: the answer is sent first. */
const MAX_START_MS = 100;

/**
 * The accepted pushes that are not handled yet. Their bodies stay in memory, so there is a limit. A push that comes at
 * the limit waits for room. Gapless limits the requests that wait for an answer, so it then sends more slowly. Pushes
 * that wait are in memory as well, so they have a limit of the same size.
 */
export class PendingPushes {
  readonly #maxPushes: number;
  readonly #maxBytes: number;
  readonly #working = new Set<Promise<void>>();
  #workingBytes = 0;
  /** In the order in which they came. */
  readonly #waiting = new Set<Waiting>();
  #waitingBytes = 0;

  constructor({ maxPending, maxPendingBytes }: PendingLimits) {
    this.#maxPushes = maxPending ?? DEFAULT_MAX_PENDING;
    this.#maxBytes = maxPendingBytes ?? DEFAULT_MAX_PENDING_BYTES;
  }

  /** @returns whether there is room for the push; false after 5 s without, and at once if too many wait */
  room(bytes: number): Promise<boolean> {
    if (this.#isFull(this.#waiting.size, this.#waitingBytes)) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = (hasRoom: boolean): void => {
        clearTimeout(timer);
        this.#waiting.delete(waiting);
        this.#waitingBytes -= bytes;
        resolve(hasRoom);
      };
      const waiting = { bytes, end };
      const timer = setTimeout(end, MAX_WAIT_MS, false);
      this.#waiting.add(waiting);
      this.#waitingBytes += bytes;
      this.#letIn();
    });
  }

  /** Counts a push until its work is done. The work must not reject. */
  add(work: Promise<void>, bytes: number): void {
    const counted = work.then(() => {
      this.#working.delete(counted);
      this.#workingBytes -= bytes;
      this.#letIn();
    });
    this.#working.add(counted);
    this.#workingBytes += bytes;
  }

  /** Resolves once all work is done. Pushes that wait for room are let in at once. */
  async idle(): Promise<void> {
    for (const { end } of this.#waiting) end(true);
    while (this.#working.size > 0) await Promise.all(this.#working);
  }

  /** Counts no push that was let in before its work begins: the work never begins if the sender has left meanwhile. */
  #letIn(): void {
    let pushes = this.#working.size;
    let bytes = this.#workingBytes;
    for (const waiting of this.#waiting) {
      if (this.#isFull(pushes, bytes)) break;
      pushes++;
      bytes += waiting.bytes;
      waiting.end(true);
    }
    if (this.#waiting.size === 0 || pushes === this.#working.size) return;
    // The work of a push whose sender left never begins, so its end lets nobody in.
    setTimeout(() => {
      this.#letIn();
    }, MAX_START_MS);
  }

  #isFull(pushes: number, bytes: number): boolean {
    return pushes >= this.#maxPushes || bytes >= this.#maxBytes;
  }
}
