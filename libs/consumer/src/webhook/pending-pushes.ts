/** The limits of the pushes that are not handled yet. */
interface PendingLimits {
  readonly maxPending?: number;
  readonly maxPendingBytes?: number;
}

interface Waiting {
  readonly bytes: number;
  readonly end: (hasRoom: boolean) => void;
}

/** A push that was let in, and whose work has not begun. */
interface Coming {
  readonly bytes: number;
  readonly timer: ReturnType<typeof setTimeout>;
}

const DEFAULT_MAX_PENDING = 1_000;
const DEFAULT_MAX_PENDING_BYTES = 64 * 1024 * 1024;
/** Half of the time that Gapless waits for an answer (contract 9). */
const MAX_WAIT_MS = 5_000;
/** Within this time, the work of a push begins that was let in: its answer is sent first. Otherwise its sender has left. */
const MAX_START_MS = 100;

/**
 * The accepted pushes that are not handled yet. Their bodies stay in memory, so there is a limit. A push that comes at
 * the limit waits for room. Gapless limits the requests that wait for an answer, so it then sends more slowly. Pushes
 * that wait are in memory as well, so they have limits of their own. A lower limit of the pending ones does not lower
 * these: what is refused at once makes Gapless send faster.
 */
export class PendingPushes {
  readonly #maxPushes: number;
  readonly #maxBytes: number;
  readonly #maxWaiting: number;
  readonly #maxWaitingBytes: number;
  readonly #working = new Set<Promise<void>>();
  #workingBytes = 0;
  readonly #coming = new Set<Coming>();
  #comingBytes = 0;
  /** In the order in which they came. */
  readonly #waiting = new Set<Waiting>();
  #waitingBytes = 0;

  constructor({ maxPending, maxPendingBytes }: PendingLimits) {
    this.#maxPushes = maxPending ?? DEFAULT_MAX_PENDING;
    this.#maxBytes = maxPendingBytes ?? DEFAULT_MAX_PENDING_BYTES;
    this.#maxWaiting = Math.max(this.#maxPushes, DEFAULT_MAX_PENDING);
    this.#maxWaitingBytes = Math.max(this.#maxBytes, DEFAULT_MAX_PENDING_BYTES);
  }

  /** @returns whether there is room for the push; false after 5 s without, and at once if too many wait */
  room(bytes: number): Promise<boolean> {
    if (this.#waiting.size >= this.#maxWaiting || this.#waitingBytes >= this.#maxWaitingBytes) {
      return Promise.resolve(false);
    }
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
    const [first] = this.#coming;
    if (first !== undefined) this.#hasCome(first);
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

  #letIn(): void {
    for (const { bytes, end } of this.#waiting) {
      if (this.#isFull()) return;
      const timer = setTimeout(() => {
        this.#hasCome(coming);
        this.#letIn();
      }, MAX_START_MS);
      const coming = { bytes, timer };
      this.#coming.add(coming);
      this.#comingBytes += bytes;
      end(true);
    }
  }

  #hasCome(coming: Coming): void {
    clearTimeout(coming.timer);
    this.#coming.delete(coming);
    this.#comingBytes -= coming.bytes;
  }

  #isFull(): boolean {
    const pushes = this.#working.size + this.#coming.size;
    return pushes >= this.#maxPushes || this.#workingBytes + this.#comingBytes >= this.#maxBytes;
  }
}
