import type { Admin, ITopicConfig } from 'kafkajs';
import { ensureTopics, type KafkaConnection, type TopicPlan } from '#libs/kafka-log';
import { eventually } from './infrastructure/eventually.js';
import { offsetsOf } from './log-reader.js';

/** Makes the topics and waits until they take records. */
export async function makeTopics(connection: KafkaConnection, plans: readonly TopicPlan[]): Promise<void> {
  await connection.withAdmin(async (admin) => {
    await ensureTopics(admin, plans);
    await untilLed(admin, plans);
  });
}

/** Makes topics that no plan describes, and waits until they take records. */
export async function makePlainTopics(admin: Admin, topics: readonly ITopicConfig[]): Promise<void> {
  // Not `waitForLeaders`: kafkajs asks for them at once, and fails if the broker does not know the topic yet.
  await admin.createTopics({ topics: [...topics], waitForLeaders: false });
  await untilLed(admin, topics);
}

/** For a moment after it made a topic, a broker does not know yet that it leads it. */
async function untilLed(admin: Admin, topics: readonly { readonly topic: string }[]): Promise<void> {
  for (const { topic } of topics) await eventually(() => offsetsOf(admin, topic));
}
