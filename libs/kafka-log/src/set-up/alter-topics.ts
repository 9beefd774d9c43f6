import kafkajs, { type Admin } from 'kafkajs';
import { findTopics } from './found-topics.js';
import { judgeTopic } from './judge-topic.js';
import type { TopicPlan } from '../topics/topics.js';

/** A setting that was altered. */
export interface AlteredTopic {
  readonly topic: string;
  readonly name: string;
  readonly from: string | undefined;
  readonly to: string;
}

/**
 * Alters the settings of existing topics that do not fit. Use it for our own brokers, or for topics that were just
 * created. On other brokers, an operator changes settings.
 * @param only the setting to alter; all by default
 */
export async function alterTopics(
  admin: Admin,
  plans: readonly TopicPlan[],
  only?: string,
): Promise<readonly AlteredTopic[]> {
  const existing = new Set(await admin.listTopics());
  const names = plans.map(({ topic }) => topic).filter((topic) => existing.has(topic));
  if (names.length === 0) return [];
  const { topics, brokers } = await findTopics(admin, names);
  const altered: AlteredTopic[] = [];
  const resources = plans.flatMap((plan) => {
    const found = topics.get(plan.topic);
    if (found === undefined) return [];
    const { misfits } = judgeTopic(plan, found, { brokers, acceptedPartitions: 0 });
    const changes = misfits.flatMap(({ alter }) => alter ?? []).filter(({ name }) => name === (only ?? name));
    if (changes.length === 0) return [];
    for (const { name, value } of changes) {
      altered.push({ topic: plan.topic, name, from: found.config.get(name), to: value });
    }
    // The request replaces all settings that the topic has itself, so include those that fit.
    const config = new Map([...found.ownConfig, ...changes.map(({ name, value }) => [name, value] as const)]);
    const configEntries = [...config].map(([name, value]) => ({ name, value }));
    return [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: plan.topic, configEntries }];
  });
  if (resources.length > 0) await admin.alterConfigs({ validateOnly: false, resources });
  return altered;
}
