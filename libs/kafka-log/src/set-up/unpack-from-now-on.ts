import kafkajs, { type Admin } from 'kafkajs';
import type { DescribedTopic } from './found-topics.js';
import { isPassingKafkaError } from '../connection/is-passing-kafka-error.js';
import { COMPRESSION, UNCOMPRESSED } from './judge-topic.js';
import type { TopicPlan } from '../topics/topics.js';

/**
 * Makes the brokers unpack new records of topics that were created before Gapless asked for it.
 * @returns whether a topic was altered. If the brokers refuse, comparing the settings shows it.
 */
export async function unpackFromNowOn(
  admin: Admin,
  plans: readonly TopicPlan[],
  topics: ReadonlyMap<string, DescribedTopic>,
): Promise<boolean> {
  const resources = plans.flatMap(({ topic, unpacks }) => {
    const found = topics.get(topic);
    if (unpacks !== true || found === undefined || found.config.get(COMPRESSION) === UNCOMPRESSED) return [];
    // A setting that is missing here goes back to the broker's default.
    const config = new Map([...found.ownConfig, [COMPRESSION, UNCOMPRESSED]]);
    const configEntries = [...config].map(([name, value]) => ({ name, value }));
    return [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configEntries }];
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
