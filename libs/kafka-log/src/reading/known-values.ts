import { noLeaderError } from '../kafkajs/partition-errors/leaderless-partitions.js';

/** Values by partition, of a topic with partitions that have no leader. */
class KnownValues<Value> extends Map<number, Value> {
  constructor(
    known: readonly (readonly [partition: number, value: Value])[],
    private readonly topic: string,
    readonly leaderless: readonly number[],
  ) {
    super(known);
  }

  override get(partition: number): Value | undefined {
    if (this.leaderless.includes(partition)) throw noLeaderError(this.topic, partition);
    return super.get(partition);
  }

  override get size(): number {
    return super.size + this.leaderless.length;
  }

  override has(partition: number): boolean {
    return super.has(partition) || this.leaderless.includes(partition);
  }

  override keys(): MapIterator<number> {
    return [...super.keys(), ...this.leaderless].values();
  }

  override values(): MapIterator<Value> {
    throw this.#error();
  }

  override entries(): MapIterator<[number, Value]> {
    throw this.#error();
  }

  override [Symbol.iterator](): MapIterator<[number, Value]> {
    throw this.#error();
  }

  override forEach(): void {
    throw this.#error();
  }

  #error(): Error {
    return noLeaderError(this.topic, this.leaderless[0] ?? 0);
  }
}

/**
 * Returns what is known of the partitions of a topic. If one is `undefined`, it has no leader. Then asking for its
 * value, or for all values, throws. So nobody takes it for an empty partition.
 */
export function knownValues<Value>(
  topic: string,
  values: readonly (readonly [partition: number, value: Value | undefined])[],
): ReadonlyMap<number, Value> {
  const known = values.flatMap(([partition, value]) => (value === undefined ? [] : [[partition, value] as const]));
  if (known.length === values.length) return new Map(known);
  const leaderless = values.filter(([, value]) => value === undefined).map(([partition]) => partition);
  return new KnownValues(known, topic, leaderless);
}

/** Whether the value of the partition can be asked for: it has a leader. */
export function hasLeader(values: ReadonlyMap<number, unknown>, partition: number): boolean {
  return !(values instanceof KnownValues && values.leaderless.includes(partition));
}
