import type { KafkaConnection } from '../connection/kafka-connection.js';
import { knownValues } from './known-values.js';

/** Offsets by partition. */
export type Positions = ReadonlyMap<number, number>;

/** The offset of a partition's first record, and the one after its last. */
export interface PartitionBounds {
  readonly begin: number;
  readonly end: number;
}

/** Whether `reached` is at or after `ends` in each partition. */
export function hasReached(reached: Positions, ends: Positions): boolean {
  return [...ends].every(([partition, end]) => end === 0 || (reached.get(partition) ?? 0) >= end);
}

/** kafkajs returns `undefined` for a partition without a leader. */
function offsetOf(offset: string | undefined): number | undefined {
  return offset === undefined ? undefined : Number(offset);
}

/** Returns the bounds of the partitions that kafkajs has found. */
export function topicBounds(
  topic: string,
  offsets: readonly { readonly partition: number; readonly low: string; readonly high: string }[],
): ReadonlyMap<number, PartitionBounds> {
  return knownValues(
    topic,
    offsets.map(({ partition, low, high }) => {
      const [begin, end] = [offsetOf(low), offsetOf(high)];
      return [partition, begin === undefined || end === undefined ? undefined : { begin, end }];
    }),
  );
}

/**
 * Reads where topics end, and the offsets of consumer groups. Nothing is known of a partition without a leader. Asking a
 * returned map for it, or for all partitions, throws. `hasLeader` says which partitions can be asked for.
 */
export class LogPositions {
  constructor(private readonly connection: Pick<KafkaConnection, 'withAdmin'>) {}

  /** Runs all requests of `act` over one connection, which is much cheaper than one each. */
  async together<T>(act: (positions: LogPositions) => Promise<T>): Promise<T> {
    return this.connection.withAdmin((admin) => act(new LogPositions({ withAdmin: (ask) => ask(admin) })));
  }

  /** Returns the names of all topics on the brokers. */
  async topics(): Promise<readonly string[]> {
    return this.connection.withAdmin((admin) => admin.listTopics());
  }

  /** Returns the offset after the last record of each partition. */
  async ends(topic: string): Promise<Positions> {
    const offsets = await this.connection.withAdmin((admin) => admin.fetchTopicOffsets(topic));
    return knownValues(
      topic,
      offsets.map(({ partition, high, low }) => {
        const end = offsetOf(high);
        return [partition, end !== undefined && high === low ? 0 : end];
      }),
    );
  }

  /** Returns the bounds of each partition: from its first record to the offset after its last. */
  async bounds(topic: string): Promise<ReadonlyMap<number, PartitionBounds>> {
    const offsets = await this.connection.withAdmin((admin) => admin.fetchTopicOffsets(topic));
    return topicBounds(topic, offsets);
  }

  /** Returns the offset of each partition's first record from that time or later; the end if there is none. */
  async endsBefore(topic: string, timeMs: number): Promise<Positions> {
    const offsets = await this.connection.withAdmin((admin) => admin.fetchTopicOffsetsByTimestamp(topic, timeMs));
    return knownValues(
      topic,
      offsets.map(({ partition, offset }) => [partition, offsetOf(offset)]),
    );
  }

  /** Returns the offsets that the group has committed for the topic; 0 for partitions without one. */
  async committed(groupId: string, topic: string): Promise<Positions> {
    const [found] = await this.connection.withAdmin((admin) => admin.fetchOffsets({ groupId, topics: [topic] }));
    return new Map((found?.partitions ?? []).map(({ partition, offset }) => [partition, Math.max(0, Number(offset))]));
  }
}
