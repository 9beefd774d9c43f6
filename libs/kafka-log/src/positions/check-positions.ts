import { judgePosition, type Position, type PositionVerdict } from '#libs/domain';
import { anchorOf } from '../reading/anchor.js';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import { hasLeader, knownValues } from '../reading/known-values.js';
import { LogPositions, type PartitionBounds } from '../reading/log-positions.js';
import { readPartitions } from '../reading/read-partitions.js';
import type { StoredRecord } from '../records/record.js';

/** The positions at which a reader continues, by partition. */
export type PartitionPositions = ReadonlyMap<number, Position>;

/** The verdict on a position, and the first and last offset of the partition. */
export interface CheckedPosition extends PartitionBounds {
  readonly verdict: PositionVerdict;
}

/**
 * Compares a reader's remembered positions with the current content of the partitions. A partition without a leader
 * cannot be compared; see `hasLeader`.
 */
export async function checkPositions(
  connection: KafkaConnection,
  topic: string,
  positions: PartitionPositions,
): Promise<ReadonlyMap<number, CheckedPosition>> {
  const bounds = await new LogPositions(connection).bounds(topic);
  const fingerprints = new Map<number, string>();
  const stretches = [...positions].flatMap(([partition, { anchor }]) => {
    if (!hasLeader(bounds, partition)) return [];
    const { begin, end } = bounds.get(partition) ?? NOTHING;
    if (anchor === null || anchor.offset < begin || anchor.offset >= end) return [];
    return [{ topic, partition, from: anchor.offset, to: anchor.offset + 1 }];
  });
  const onRecord = (record: StoredRecord) => {
    fingerprints.set(record.partition, anchorOf(record).fingerprint);
  };
  await readPartitions(connection, stretches, onRecord, { unreadable: 'given' });
  return knownValues(
    topic,
    [...positions].map(([partition, position]) => {
      if (!hasLeader(bounds, partition)) return [partition, undefined];
      const { begin, end } = bounds.get(partition) ?? NOTHING;
      const verdict = judgePosition(position, { begin, end, fingerprint: fingerprints.get(partition) ?? null });
      return [partition, { begin, end, verdict }];
    }),
  );
}

const NOTHING: PartitionBounds = { begin: 0, end: 0 };
