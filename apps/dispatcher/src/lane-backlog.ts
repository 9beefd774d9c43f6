import type { EndpointId } from '#libs/domain';
import { readPartitions, type KafkaConnection, type Positions } from '#libs/kafka-log';

/** Records of a partition that one look reads at most; the next look goes on from there. */
const READ_AT_ONCE = 200_000;

interface Seen {
  /** Everything before this offset was read. */
  readUpTo: number;
  /** The last record of each endpoint. */
  readonly lastOffsets: Map<EndpointId, number>;
}

/**
 * Knows which endpoints have attempts waiting in a lane's topic. It reads what the lane has not committed, each record once,
 * and remembers one number for each endpoint.
 */
export class LaneBacklog {
  readonly #seen = new Map<number, Seen>();

  constructor(
    private readonly connection: KafkaConnection,
    private readonly topic: string,
  ) {}

  /**
   * @param committed where the lane goes on, by partition
   * @param ends how far to look; the partitions to look at
   * @returns the endpoints that have a record in between, by partition; without the partitions that are not read so far yet
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

  /** Lets go of what is known of a partition that the lane has passed. */
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
