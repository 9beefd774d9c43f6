import kafkajs, { type Admin } from 'kafkajs';
import type { DescribedTopic } from './found-topics.js';
import { isPassingKafkaError } from '../connection/is-passing-kafka-error.js';
import { COMPRESSION, UNCOMPRESSED } from './judge-topic.js';
import type { TopicPlan } from '../topics/topics.js';

type Described = ReadonlyMap<string, DescribedTopic>;

/** Whether a topic that is there does not have its records unpacked by the brokers, as the plan wants it. */
export function isPacked({ topic, unpacks }: TopicPlan, topics: Described): boolean {
  const found = topics.get(topic);
  return unpacks === true && found !== undefined && found.config.get(COMPRESSION) !== UNCOMPRESSED;
}

/**
 * Makes the brokers unpack new records of topics that were created before Gapless asked for it.
 * @returns whether a topic was altered. If the brokers refuse, comparing the settings shows it.
 */
export async function unpackFromNowOn(admin: Admin, plans: readonly TopicPlan[], topics: Described): Promise<boolean> {
  const packed = plans.filter((plan) => isPacked(plan, topics));
  const resources = packed.map(({ topic }) => {
    // A setting that is missing here goes back to the broker's default.
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
