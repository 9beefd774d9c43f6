/** Something with a place in its organization's log. */
interface Sequenced {
  readonly seq: number;
}

/**
 * Puts what comes in any order, repeated and with gaps, into the order of its seq: what is handed on is always the one
 * behind `handled`.
 */
export class SequenceBuffer<Item extends Sequenced> {
  readonly #held = new Map<number, Item>();
  #handled: number;
  #frontier: number;
  #highestSeen: number;

  /**
   * @param position the last seq that was handled
   * @param capacity how many items `offer` may have it hold
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

  /** The last seq up to which nothing is missing. */
  get frontier(): number {
    return this.#frontier;
  }

  /** How many items can be handled now. */
  get ready(): number {
    return this.#frontier - this.#handled;
  }

  /** Whether something is missing that is known to exist. */
  get isBehind(): boolean {
    return this.#highestSeen > this.#frontier;
  }

  /** Takes an item if there is room for it; `isBehind` means that it was not taken. */
  offer(item: Item): void {
    if (this.#held.size < this.capacity) this.add(item);
    else this.#highestSeen = Math.max(this.#highestSeen, item.seq);
  }

  /** Takes an item, unless it was there before. */
  add(item: Item): void {
    const { seq } = item;
    this.#highestSeen = Math.max(this.#highestSeen, seq);
    if (seq <= this.#handled || this.#held.has(seq)) return;
    this.#held.set(seq, item);
    this.#advanceFrontier();
  }

  /** The item behind `handled`, if it is there. */
  next(): Item | undefined {
    return this.#held.get(this.#handled + 1);
  }

  /** Marks the item of `next` as handled. */
  advance(): void {
    this.#held.delete(++this.#handled);
  }

  /** Gives up what is missing below this seq, up to the next item that is there. Only while nothing is ready. */
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
