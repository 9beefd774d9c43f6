import type { Position } from '#libs/domain';
import { parseAnchor } from '../reading/anchor.js';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import type { PositionSource } from './position-sources.js';

/** Reads a group's positions from its committed offsets. */
export function committedPositions(connection: KafkaConnection, groupId: string): PositionSource {
  return async (topic, partitions) => {
    const [found] = await connection.withAdmin((admin) => admin.fetchOffsets({ groupId, topics: [topic] }));
    return new Map<number, Position>(
      (found?.partitions ?? []).flatMap(({ partition, offset, metadata }) => {
        const next = Number(offset);
        if (next < 0 || !partitions.includes(partition)) return [];
        return [[partition, { next, anchor: parseAnchor(metadata) }] as const];
      }),
    );
  };
}
