import type { KafkaConnection } from '../connection/kafka-connection.js';
import { noLeaderError } from '../kafkajs/partition-errors/leaderless-partitions.js';
import { LogPositions, type Positions } from '../reading/log-positions.js';

/** Moves a consumer group to these offsets of the topic. The group must have no members. */
export async function moveGroup(
  connection: KafkaConnection,
  groupId: string,
  topic: string,
  places: Positions,
): Promise<void> {
  const partitions = [...places].map(([partition, offset]) => ({ partition, offset: String(offset) }));
  await connection.withAdmin((admin) => admin.setOffsets({ groupId, topic, partitions }));
  // kafkajs leaves the offset of a partition without a leader as it is, and reports success.
  const committed = await new LogPositions(connection).committed(groupId, topic);
  for (const [partition, offset] of places) {
    if (committed.get(partition) !== offset) throw noLeaderError(topic, partition);
  }
}
