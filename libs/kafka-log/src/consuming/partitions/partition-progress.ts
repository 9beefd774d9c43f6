/** The time by which a record was in the partition. */
interface Arrival {
  readonly offset: number;
  readonly byMs: number;
}

/** The records that a consumer has not handled yet. */
export interface Lag {
  readonly records: number;
  /** The age of the oldest unhandled record, as far as is known; 0 without any. */
  readonly seconds: number;
}

/** Enough for hours of scrapes. Beyond that, every second entry is dropped. */
const REMEMBERED_ARRIVALS = 200;

/**
 * A consumer's position in a partition, and the age of its next record. A record's time is known once it was handed
 * over. For later records, each check of the partition's end shows by when they had arrived.
 */
export class PartitionProgress {
  #next: number | null = null;
  /** Ascending in offset and time. */
  #arrivals: Arrival[] = [];

  /** The offset of the first unhandled record; `null` while it is unknown. */
  get next(): number | null {
    return this.#next;
  }

  /** Notes that everything before the offset is handled. */
  reached(next: number): void {
    this.#next = next;
    while (this.#arrivals[0] !== undefined && this.#arrivals[0].offset < next) this.#arrivals.shift();
  }

  /** Notes that the record at the offset was in the partition by that time. */
  arrived(offset: number, byMs: number): void {
    if (this.#next !== null && offset < this.#next) return;
    const place = this.#arrivals.findIndex((arrival) => arrival.offset >= offset);
    if (place === -1) this.#arrivals.push({ offset, byMs });
    else if (this.#arrivals[place]?.offset !== offset) this.#arrivals.splice(place, 0, { offset, byMs });
    if (this.#arrivals.length > REMEMBERED_ARRIVALS) {
      this.#arrivals = this.#arrivals.filter((_, index) => index % 2 === 0);
    }
  }

  /** @param start the partition's first offset @param end the offset after its last record */
  lag(start: number, end: number, nowMs: number): Lag {
    const records = Math.max(0, end - Math.max(start, this.#next ?? end));
    const oldest = this.#arrivals[0];
    const seconds = records === 0 || oldest === undefined ? 0 : Math.max(0, nowMs - oldest.byMs) / 1_000;
    return { records, seconds };
  }
}
