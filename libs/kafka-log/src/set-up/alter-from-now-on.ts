import kafkajs, { type Admin } from 'kafkajs';
import type { DescribedTopic } from './found-topics.js';
import { isPassingKafkaError } from '../connection/is-passing-kafka-error.js';
import { APPEND_TIME, COMPRESSION, CREATE_TIME, TIMESTAMP_TYPE, UNCOMPRESSED } from './judge-topic.js';
import type { TopicPlan } from '../topics/topics.js';

type Described = ReadonlyMap<string, DescribedTopic>;

/** Returns the settings of an existing topic that Gapless alters itself. They count for new records only. */
function alterationsOf(plan: TopicPlan, topics: Described): ReadonlyMap<string, string> {
  const found = topics.get(plan.topic)?.config;
  const alterations = new Map<string, string>();
  if (found === undefined) return alterations;
  if (plan.unpacks === true && found.get(COMPRESSION) !== UNCOMPRESSED) alterations.set(COMPRESSION, UNCOMPRESSED);
  if (plan.takesCreateTime === true && found.get(TIMESTAMP_TYPE) === CREATE_TIME) {
    alterations.set(TIMESTAMP_TYPE, APPEND_TIME);
  }
  return alterations;
}

/** Whether `alterFromNowOn` has something to alter. */
export function isToAlter(plan: TopicPlan, topics: Described): boolean {
  return alterationsOf(plan, topics).size > 0;
}

/**
 * Makes the brokers unpack the new records of existing topics, and stamp them with their own time. Brokers refuse a
 * producer's time that is more than an hour ahead of their clock.
 * @returns what happened. Brokers that refuse may have altered some of the topics. `ensureTopics` reports what must
 *   still be altered.
 */
export async function alterFromNowOn(
  admin: Admin,
  plans: readonly TopicPlan[],
  topics: Described,
): Promise<'fits' | 'altered' | 'refused'> {
  const resources = plans.flatMap((plan) => {
    const alterations = alterationsOf(plan, topics);
    if (alterations.size === 0) return [];
    // A setting that is missing here returns to the broker's default.
    const config = new Map([...(topics.get(plan.topic)?.ownConfig ?? []), ...alterations]);
    const configEntries = [...config].map(([name, value]) => ({ name, value }));
    return [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: plan.topic, configEntries }];
  });
  if (resources.length === 0) return 'fits';
  try {
    await admin.alterConfigs({ validateOnly: false, resources });
    return 'altered';
  } catch (error) {
    if (isPassingKafkaError(error)) throw error;
    return 'refused';
  }
}
