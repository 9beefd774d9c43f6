import { partitionOf } from './partition-of.js';

/** The number of keys whose partition is cached. */
const REMEMBERED_KEYS = 10_000;

/** Returns the partition of a key, and caches it for repeated keys. */
export class KeyPlaces {
  readonly #byKey = new Map<string, number>();

  constructor(readonly partitions: number) {}

  of(key: string | Buffer): number {
    if (typeof key !== 'string') return partitionOf(key, this.partitions);
    let place = this.#byKey.get(key);
    if (place === undefined) {
      if (this.#byKey.size >= REMEMBERED_KEYS) this.#byKey.clear();
      place = partitionOf(key, this.partitions);
      this.#byKey.set(key, place);
    }
    return place;
  }
}
