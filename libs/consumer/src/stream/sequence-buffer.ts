/** An item with a seq in its organization's log. */
interface Sequenced {
  readonly seq: number;
}

/**
 * Sorts items by seq. Items may come in any order, repeated and with gaps; `next` returns only the one that follows
 * `handled`.
 */
export class SequenceBuffer<Item extends Sequenced> {
  readonly #held = new Map<number, Item>();
  #handled: number;
  #frontier: number;
  #highestSeen: number;

  /**
   * @param position the seq of the last item that was handled
   * @param capacity how many items `offer` may store
   */
  constructor(
    position: number,
    private readonly capacity: number,
  ) {
    this.#handled = position;
    this.#frontier = position;
    this.#highestSeen = position;
  }

  /** The seq of the last item that was handled. */
  get handled(): number {
    return this.#handled;
  }

  /** The last seq before the first gap. */
  get frontier(): number {
    return this.#frontier;
  }

  /** How many items can be handled now. */
  get ready(): number {
    return this.#frontier - this.#handled;
  }

  /** Whether an item is missing although a later one is known. */
  get isBehind(): boolean {
    return this.#highestSeen > this.#frontier;
  }

  /** Stores the item if there is room. If not, `isBehind` becomes true. */
  offer(item: Item): void {
    if (this.#held.size < this.capacity) this.add(item);
    else this.#highestSeen = Math.max(this.#highestSeen, item.seq);
  }

  /** Stores the item, unless it is stored or handled already. */
  add(item: Item): void {
    const { seq } = item;
    this.#highestSeen = Math.max(this.#highestSeen, seq);
    if (seq <= this.#handled || this.#held.has(seq)) return;
    this.#held.set(seq, item);
    this.#advanceFrontier();
  }

  /** Returns the item that follows `handled`, if it is there. */
  next(): Item | undefined {
    return this.#held.get(this.#handled + 1);
  }

  /** Marks the item of `next` as handled. */
  advance(): void {
    this.#held.delete(++this.#handled);
  }

  /** Gives up on missing items below this seq, up to the next stored item. Call it only while no item is ready. */
  skipMissing(below: number): void {
    this.#handled = Math.min(below, ...this.#held.keys()) - 1;
    this.#frontier = this.#handled;
    this.#highestSeen = Math.max(this.#highestSeen, this.#handled);
    this.#advanceFrontier();
  }

  #advanceFrontier(): void {
    while (this.#held.has(this.#frontier + 1)) this.#frontier++;
  }
}
