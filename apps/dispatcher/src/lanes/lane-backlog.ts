import type { EndpointId } from '#libs/domain';
import { readPartitions, type KafkaConnection, type Positions } from '#libs/kafka-log';

/** The most records of a partition that one call reads; the next call continues there. */
const READ_AT_ONCE = 200_000;

interface Seen {
  /** Everything before this offset was read. */
  readUpTo: number;
  /** The offset of each endpoint's last record. */
  readonly lastOffsets: Map<EndpointId, number>;
}

/**
 * Finds the endpoints whose attempts wait in a lane's topic. It reads each record that the lane has not committed once,
 * and remembers one number per endpoint.
 */
export class LaneBacklog {
  readonly #seen = new Map<number, Seen>();

  constructor(
    private readonly connection: KafkaConnection,
    private readonly topic: string,
  ) {}

  /**
   * @param committed the lane's committed offset in each partition
   * @param ends the partitions to read, and where to stop in each
   * @returns the endpoints that have a record in between, by partition; without partitions that are not yet read up to
   *   their end
   */
  async endpointsIn(committed: Positions, ends: Positions): Promise<ReadonlyMap<number, ReadonlySet<EndpointId>>> {
    const stretches = [...ends].map(([partition, end]) => {
      const begin = committed.get(partition) ?? 0;
      const from = Math.max(begin, this.#of(partition).readUpTo);
      return { topic: this.topic, partition, from, to: Math.max(from, Math.min(end, from + READ_AT_ONCE)) };
    });
    await readPartitions(
      this.connection,
      stretches.filter(({ from, to }) => from < to),
      ({ partition, offset, key }) => {
        if (key !== null) this.#of(partition).lastOffsets.set(key.toString() as EndpointId, offset);
      },
    );
    const found = new Map<number, ReadonlySet<EndpointId>>();
    for (const { partition, to } of stretches) {
      const seen = this.#of(partition);
      seen.readUpTo = to;
      const begin = committed.get(partition) ?? 0;
      for (const [endpointId, offset] of seen.lastOffsets) if (offset < begin) seen.lastOffsets.delete(endpointId);
      if (to >= (ends.get(partition) ?? 0)) found.set(partition, new Set(seen.lastOffsets.keys()));
    }
    return found;
  }

  /** Forgets the records of a partition that the lane has passed. */
  forget(partition: number): void {
    this.#seen.delete(partition);
  }

  #of(partition: number): Seen {
    let seen = this.#seen.get(partition);
    if (seen === undefined) {
      seen = { readUpTo: 0, lastOffsets: new Map() };
      this.#seen.set(partition, seen);
    }
    return seen;
  }
}
