import { ensureTopics, type KafkaConnection, type TopicPlan } from '#libs/kafka-log';
import { eventually } from './infrastructure/eventually.js';

/** Makes the topics and waits until they take records: for a moment after that, a broker does not know yet that it leads them. */
export async function makeTopics(connection: KafkaConnection, plans: readonly TopicPlan[]): Promise<void> {
  await connection.withAdmin(async (admin) => {
    await ensureTopics(admin, plans);
    for (const { topic } of plans) await eventually(() => admin.fetchTopicOffsets(topic));
  });
}
