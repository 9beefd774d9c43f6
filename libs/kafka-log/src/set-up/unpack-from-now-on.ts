import kafkajs, { type Admin } from 'kafkajs';
import type { DescribedTopic } from './found-topics.js';
import { isPassingKafkaError } from '../connection/is-passing-kafka-error.js';
import { COMPRESSION, UNCOMPRESSED } from './judge-topic.js';
import type { TopicPlan } from '../topics/topics.js';

type Described = ReadonlyMap<string, DescribedTopic>;

/** Whether the plan wants the brokers to unpack an existing topic's records, and they do not. */
export function isPacked({ topic, unpacks }: TopicPlan, topics: Described): boolean {
  const found = topics.get(topic);
  return unpacks === true && found !== undefined && found.config.get(COMPRESSION) !== UNCOMPRESSED;
}

/**
 * Makes the brokers unpack new records of topics from before Gapless required it.
 * @returns whether a topic was altered. If the brokers refuse, the check of the settings reports it.
 */
export async function unpackFromNowOn(admin: Admin, plans: readonly TopicPlan[], topics: Described): Promise<boolean> {
  const packed = plans.filter((plan) => isPacked(plan, topics));
  const resources = packed.map(({ topic }) => {
    // A setting that is missing here returns to the broker's default.
    const config = new Map([...(topics.get(topic)?.ownConfig ?? []), [COMPRESSION, UNCOMPRESSED]]);
    const configEntries = [...config].map(([name, value]) => ({ name, value }));
    return { type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configEntries };
  });
  if (resources.length === 0) return false;
  try {
    await admin.alterConfigs({ validateOnly: false, resources });
    return true;
  } catch (error) {
    if (isPassingKafkaError(error)) throw error;
    return false;
  }
}
