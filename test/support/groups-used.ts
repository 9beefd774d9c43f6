import { jest } from '@jest/globals';
import type { KafkaConnection } from '#libs/kafka-log';

/**
 * Notes the consumer groups that a connection uses from now on. Other test files use the same broker at the same time,
 * so a listing of all groups says nothing of one reader.
 * @returns gives the groups noted so far, and those of them that the broker still knows
 */
export function noteGroupsUsed(
  connection: KafkaConnection,
): () => Promise<{ readonly used: string[]; readonly left: string[] }> {
  const consumers = jest.spyOn(connection.kafka, 'consumer');
  return async () => {
    const used = consumers.mock.calls.map(([config]) => config.groupId);
    const { groups } = await connection.withAdmin((admin) => admin.listGroups());
    return { used, left: groups.map(({ groupId }) => groupId).filter((groupId) => used.includes(groupId)) };
  };
}
