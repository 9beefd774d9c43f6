/** The length of the window. */
const WINDOW_MS = 1_000;
/** How long a request may be on its way. It counts for longer until its answer shows that it has arrived. */
const ON_ITS_WAY_MS = 250;

interface Sent {
  readonly freesAtMs: number;
  isCounted: boolean;
}

/** Times that never decrease, read from the front. */
class Queue<T> {
  #items: T[] = [];
  #from = 0;

  push(item: T): void {
    this.#items.push(item);
  }

  /** Removes items from the front for as long as they match. */
  dropWhile(isDone: (item: T) => boolean, onDrop: (item: T) => void): void {
    for (let item = this.#items[this.#from]; item !== undefined && isDone(item); item = this.#items[++this.#from]) {
      onDrop(item);
    }
    if (this.#from < 1_000) return;
    this.#items = this.#items.slice(this.#from);
    this.#from = 0;
  }
}

/** An attempt that counts for a window. */
export interface Slot {
  /** The request is written to an open connection. */
  sent(): void;
  /** The attempt has ended. */
  ended(): void;
  /** The attempt was not made. */
  dropped(): void;
}

/**
 * Counts the attempts whose requests may reach the endpoint within one second. A request arrives between its start and
 * its answer. So an attempt counts until a second after its answer, or after the time that a request may be on its way.
 * The receiver then gets no more than the limit within a second, unless a request is on its way for longer.
 */
export class SentWindow {
  /** Attempts whose request is not sent yet. */
  #beginning = 0;
  #sentCounted = 0;
  #endedCounted = 0;
  readonly #sent = new Queue<Sent>();
  readonly #ended = new Queue<number>();

  /** @param nowMs monotonic milliseconds */
  constructor(private readonly nowMs: () => number) {}

  /** How many attempts count now. */
  get counted(): number {
    this.#forget();
    return this.#beginning + this.#sentCounted + this.#endedCounted;
  }

  /** Forgets the attempts that count no more. */
  #forget(): void {
    const nowMs = this.nowMs();
    this.#sent.dropWhile(
      (sent) => !sent.isCounted || sent.freesAtMs <= nowMs,
      (sent) => {
        if (sent.isCounted) this.#sentCounted--;
        sent.isCounted = false;
      },
    );
    this.#ended.dropWhile(
      (freesAtMs) => freesAtMs <= nowMs,
      () => {
        this.#endedCounted--;
      },
    );
  }

  begin(): Slot {
    // Without a limit nobody asks how many count, but one may be set at any time.
    this.#forget();
    this.#beginning++;
    let sent: Sent | null = null;
    let isOver = false;
    return {
      sent: () => {
        if (isOver) return;
        if (sent === null) this.#beginning--;
        // A request is sent again if the proxy died.
        else this.#uncount(sent);
        sent = { freesAtMs: this.nowMs() + ON_ITS_WAY_MS + WINDOW_MS, isCounted: true };
        this.#sentCounted++;
        this.#sent.push(sent);
      },
      ended: () => {
        if (isOver) return;
        isOver = true;
        const freesAtMs = this.nowMs() + WINDOW_MS;
        if (sent === null) this.#beginning--;
        else if (!sent.isCounted || sent.freesAtMs <= freesAtMs) return;
        else this.#uncount(sent);
        this.#endedCounted++;
        this.#ended.push(freesAtMs);
      },
      dropped: () => {
        if (isOver) return;
        isOver = true;
        if (sent === null) this.#beginning--;
      },
    };
  }

  #uncount(sent: Sent): void {
    if (sent.isCounted) this.#sentCounted--;
    sent.isCounted = false;
  }
}
