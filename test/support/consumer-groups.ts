import { Kafka, logLevel } from 'kafkajs';

/** Deletes consumer groups with all that they have committed, as the broker does when they have been empty for long. */
export async function deleteGroups(brokers: string, groupIds: readonly string[]): Promise<void> {
  const admin = new Kafka({ clientId: 'test', brokers: brokers.split(','), logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    await admin.deleteGroups([...groupIds]);
  } finally {
    await admin.disconnect();
  }
}

/** The groups whose names begin with the prefix. */
export async function groupsOf(brokers: string, prefix: string): Promise<readonly string[]> {
  const admin = new Kafka({ clientId: 'test', brokers: brokers.split(','), logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    const { groups } = await admin.listGroups();
    return groups.map(({ groupId }) => groupId).filter((groupId) => groupId.startsWith(prefix));
  } finally {
    await admin.disconnect();
  }
}

/** Moves a group's offsets to the ends of the topic, as `kafka-consumer-groups.sh --reset-offsets --to-latest` does. */
export async function resetToLatest(brokers: string, groupId: string, topic: string): Promise<void> {
  const admin = new Kafka({ clientId: 'test', brokers: brokers.split(','), logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    await admin.resetOffsets({ groupId, topic, earliest: false });
  } finally {
    await admin.disconnect();
  }
}
