import type { Seq } from '#libs/domain';

/** How a wait ended. `check`: the reader's credentials may have ended. */
export type Waited = 'moved' | 'check' | 'timeout' | 'ended';

/** The head of one org's feed, as far as reads and notifications show, and who watches it. */
export class OrgHead {
  readonly watches = new Set<HeadWatch>();
  /** The feed has reached it. `null`: not known, or later notifications may have been lost. */
  #known: Seq | null = null;

  /** Whether no event after `seq` is known of. */
  isAt(seq: Seq): boolean {
    return this.#known !== null && this.#known <= seq;
  }

  /** Notes that the feed has reached `seq`. */
  note(seq: Seq): void {
    if (this.#known === null) this.#known = seq;
    else this.raise(seq);
  }

  /** Notes that the feed has reached `seq`, if its head is known. */
  raise(seq: Seq): void {
    if (this.#known !== null && seq > this.#known) this.#known = seq;
  }

  /** Wakes the readers. @param seq the new head; `null` if it may have moved without a notification */
  moved(seq: Seq | null): void {
    if (seq === null) this.#known = null;
    else this.note(seq);
    for (const watch of this.watches) watch.notify(seq);
  }
}

/** Watches the head of an org's feed for one reader. */
export class HeadWatch {
  #isMoved = false;
  #isCheckDue = false;
  #wake: ((waited: Waited) => void) | null = null;

  /**
   * @param after the last seq that the reader has seen; the head has moved once it is greater
   * @param hearsAll whether every move is noticed now
   */
  constructor(
    private after: Seq,
    private readonly head: OrgHead,
    private readonly hearsAll: () => boolean,
    private readonly end: () => void,
  ) {}

  /** Whether the reader is to end: it has left, or the process ends. */
  get isClosed(): boolean {
    return !this.head.watches.has(this);
  }

  /** Whether a read would find nothing that the reader has not seen. */
  get isAtHead(): boolean {
    return this.head.isAt(this.after) && this.hearsAll();
  }

  /** Call this before you read the feed: if the head moves later, the next wait ends at once. */
  reset(): void {
    this.#isMoved = false;
  }

  /** Notes that the reader has seen every event up to `seq`, and which head the read since the last `reset` found. */
  seen(seq: Seq, headSeq: Seq): void {
    // A reader that has left gets pages that were not read, and hears of no moves.
    if (this.isClosed) return;
    if (seq > this.after) this.after = seq;
    // A read that was under way while notifications were lost says nothing of what came then.
    if (!this.#isMoved && this.hearsAll()) this.head.note(headSeq);
  }

  /** Waits until the head has moved since the last `reset`, for at most `ms`. Closing the watch ends the wait. */
  wait(ms: number): Promise<Waited> {
    if (this.isClosed) return Promise.resolve('ended');
    if (this.takeCheck()) return Promise.resolve('check');
    if (this.#isMoved) return Promise.resolve('moved');
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake?.('timeout'), ms);
      this.#wake = (waited) => {
        clearTimeout(timer);
        this.#wake = null;
        resolve(waited);
      };
    });
  }

  /** @param seq the new head; `null` if the head may have moved without a notification */
  notify(seq: Seq | null): void {
    if (seq !== null && seq <= this.after) return;
    this.#isMoved = true;
    this.#wake?.('moved');
  }

  /** Asks the reader to check its credentials, now or as soon as it waits. */
  check(): void {
    if (this.#wake === null) this.#isCheckDue = true;
    else this.#wake('check');
  }

  /** Whether the reader has to check its credentials. After that it need not, until the next time. */
  takeCheck(): boolean {
    const isDue = this.#isCheckDue;
    this.#isCheckDue = false;
    return isDue;
  }

  /** Ends the current wait and every later one. */
  close(): void {
    this.end();
    this.#wake?.('ended');
  }
}
