interface Entry<Item> {
  readonly item: Item;
  readonly share: string;
  /** The item's turn: the bytes that its share has used up to this item, counted from when the share came. */
  readonly turn: number;
  /** Decides between items of the same turn. */
  readonly arrival: number;
}

interface Share {
  turn: number;
  waiting: number;
}

/**
 * A queue that gives each share the same number of bytes (self-clocked fair queuing). A share with many bytes waits for
 * those with fewer. Items of the same share keep their order.
 */
export class FairQueue<Item> {
  /** A binary heap: the next item is the first. */
  readonly #entries: Entry<Item>[] = [];
  readonly #shares = new Map<string, Share>();
  /** The turn of the last item that was taken. New shares begin there. */
  #turn = 0;
  #arrivals = 0;

  get length(): number {
    return this.#entries.length;
  }

  add(share: string, bytes: number, item: Item): void {
    let of = this.#shares.get(share);
    if (of === undefined) this.#shares.set(share, (of = { turn: this.#turn, waiting: 0 }));
    of.turn += bytes;
    of.waiting++;
    this.#entries.push({ item, share, turn: of.turn, arrival: this.#arrivals++ });
    this.#rise(this.#entries.length - 1);
  }

  /** Returns the next item without removing it. */
  peek(): Item | undefined {
    return this.#entries[0]?.item;
  }

  take(): Item | undefined {
    const first = this.#entries[0];
    const last = this.#entries.pop();
    if (first === undefined || last === undefined) return undefined;
    if (last !== first) {
      this.#entries[0] = last;
      this.#sink();
    }
    const share = this.#shares.get(first.share);
    if (share !== undefined && --share.waiting === 0) this.#shares.delete(first.share);
    // Start again at 0 when the queue is empty, so that turns stay small enough for a number.
    this.#turn = this.#entries.length === 0 ? 0 : first.turn;
    return first.item;
  }

  #rise(from: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#swapIfBefore(at, parent)) return;
      at = parent;
    }
  }

  #sink(): void {
    let at = 0;
    for (;;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      const child = this.#isBefore(right, left) ? right : left;
      if (!this.#swapIfBefore(child, at)) return;
      at = child;
    }
  }

  #swapIfBefore(one: number, other: number): boolean {
    const [a, b] = [this.#entries[one], this.#entries[other]];
    if (a === undefined || b === undefined || !this.#isBefore(one, other)) return false;
    this.#entries[one] = b;
    this.#entries[other] = a;
    return true;
  }

  #isBefore(one: number, other: number): boolean {
    const [a, b] = [this.#entries[one], this.#entries[other]];
    if (a === undefined || b === undefined) return false;
    return a.turn === b.turn ? a.arrival < b.arrival : a.turn < b.turn;
  }
}
