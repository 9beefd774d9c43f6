/** Something that was in the partition by a certain time. */
interface Arrival {
  readonly offset: number;
  readonly byMs: number;
}

/** What a consumer has not handled yet. */
export interface Lag {
  readonly records: number;
  /** For how long the oldest of them has been there, as far as is known; 0 without any. */
  readonly seconds: number;
}

/** Enough for hours of scrapes; beyond it, every other one is as good. */
const REMEMBERED_ARRIVALS = 200;

/**
 * How far a consumer is in a partition, and since when what comes next has been there. The time of a record is known when
 * it was handed over; of those behind it is known by when they were there, from every look at the end of the partition.
 */
export class PartitionProgress {
  #next: number | null = null;
  /** Ascending in offset and time. */
  #arrivals: Arrival[] = [];

  /** The offset of the first record that is not handled, `null` before anything is known. */
  get next(): number | null {
    return this.#next;
  }

  /** Everything before the offset is handled. */
  reached(next: number): void {
    this.#next = next;
    while (this.#arrivals[0] !== undefined && this.#arrivals[0].offset < next) this.#arrivals.shift();
  }

  /** The record at the offset was in the partition by that time. */
  arrived(offset: number, byMs: number): void {
    if (this.#next !== null && offset < this.#next) return;
    const place = this.#arrivals.findIndex((arrival) => arrival.offset >= offset);
    if (place === -1) this.#arrivals.push({ offset, byMs });
    else if (this.#arrivals[place]?.offset !== offset) this.#arrivals.splice(place, 0, { offset, byMs });
    if (this.#arrivals.length > REMEMBERED_ARRIVALS) {
      this.#arrivals = this.#arrivals.filter((_, index) => index % 2 === 0);
    }
  }

  /** @param start of what the partition still holds @param end behind its last record */
  lag(start: number, end: number, nowMs: number): Lag {
    const records = Math.max(0, end - Math.max(start, this.#next ?? end));
    const oldest = this.#arrivals[0];
    const seconds = records === 0 || oldest === undefined ? 0 : Math.max(0, nowMs - oldest.byMs) / 1_000;
    return { records, seconds };
  }
}
