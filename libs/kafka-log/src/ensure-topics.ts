import kafkajs, { type Admin } from 'kafkajs';
import { startStep, type StartStepOptions } from '#libs/runtime';
import { isPassingKafkaError } from './is-passing-kafka-error.js';
import { LARGEST_BATCH_BYTES } from './limits.js';
import type { TopicPlan } from './topics.js';

/** What is on the broker is not what the settings ask for; an operator has to decide which of them is right. */
export class TopicMismatchError extends Error {
  override readonly name = 'TopicMismatchError';
  constructor(readonly mismatches: readonly string[]) {
    super(
      `existing topics do not fit the settings:\n${mismatches.map((mismatch) => `  - ${mismatch}`).join('\n')}\n` +
        'Change the settings to what is there, or use other brokers. Never alter the number of partitions: it moves organizations.',
    );
  }
}

/** How to wait for brokers that are not ready yet, and whom to tell. */
export type WaitForTopics = Partial<Pick<StartStepOptions, 'onWait' | 'signal' | 'limitMs'>>;

function configOf(plan: TopicPlan): Readonly<Record<string, string>> {
  return {
    'cleanup.policy': plan.compacted ? 'compact' : 'delete',
    'retention.ms': String(plan.retentionMs),
    // A broker may have a default that removes records before their time.
    'retention.bytes': '-1',
    'message.timestamp.type': plan.appendTime ? 'LogAppendTime' : 'CreateTime',
    'max.message.bytes': String(LARGEST_BATCH_BYTES),
  };
}

/** A topic may keep records longer than needed, never shorter. */
function mismatchesOf(plan: TopicPlan, partitions: number, config: ReadonlyMap<string, string>): readonly string[] {
  const found: string[] = [];
  if (partitions !== plan.partitions) {
    found.push(`${plan.topic} has ${partitions} partitions, PARTITIONS asks for ${plan.partitions}`);
  }
  for (const [name, wanted] of Object.entries(configOf(plan))) {
    const actual = config.get(name) ?? '';
    if (name === 'retention.ms') {
      if (plan.compacted) continue;
      const actualMs = Number(actual);
      if (actualMs !== -1 && actualMs < plan.retentionMs) {
        found.push(`${plan.topic} keeps records for ${actualMs} ms, at least ${plan.retentionMs} ms are needed`);
      }
    } else if (name === 'max.message.bytes') {
      if (Number(actual) < LARGEST_BATCH_BYTES) {
        found.push(`${plan.topic} takes ${name} ${actual}, at least ${LARGEST_BATCH_BYTES} are needed`);
      }
    } else if (actual !== wanted) {
      found.push(`${plan.topic} has ${name}=${actual}, ${wanted} is needed`);
    }
  }
  return found;
}

/**
 * Creates the topics that are missing and checks all of them. The replication factor is the broker's own default. Each
 * step is repeated while the brokers are not ready for it: they may just have started, or be busy.
 * @throws TopicMismatchError
 * @throws StartStepError when a step does not succeed within 5 minutes
 */
export async function ensureTopics(admin: Admin, plans: readonly TopicPlan[], wait: WaitForTopics = {}): Promise<void> {
  const step = <T>(what: string, act: () => Promise<T>): Promise<T> =>
    startStep(what, act, { isPassing: isPassingKafkaError, onWait: () => undefined, ...wait });

  const existing = new Set(await step('the list of topics', () => admin.listTopics()));
  const missing = plans.filter((plan) => !existing.has(plan.topic));
  if (missing.length > 0) {
    await step(`${missing.length} topics to be created`, () =>
      admin.createTopics({
        waitForLeaders: true,
        topics: missing.map((plan) => ({
          topic: plan.topic,
          numPartitions: plan.partitions,
          replicationFactor: -1,
          configEntries: Object.entries(configOf(plan)).map(([name, value]) => ({ name, value })),
        })),
      }),
    );
    // A leader is named a moment before it knows that it is one, and refuses requests until then.
    for (const { topic } of missing) await step(`the leaders of ${topic}`, () => admin.fetchTopicOffsets(topic));
  }
  // New ones as well: another process, with other settings, may have been faster.
  const [metadata, configs] = await step('the settings of the topics', () =>
    Promise.all([
      admin.fetchTopicMetadata({ topics: plans.map((plan) => plan.topic) }),
      admin.describeConfigs({
        includeSynonyms: false,
        resources: plans.map((plan) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name: plan.topic })),
      }),
    ]),
  );
  const partitions = new Map(metadata.topics.map((topic) => [topic.name, topic.partitions.length]));
  const config = new Map(
    configs.resources.map((resource) => [
      resource.resourceName,
      new Map(resource.configEntries.map((entry) => [entry.configName, entry.configValue])),
    ]),
  );
  const mismatches = plans.flatMap((plan) =>
    mismatchesOf(plan, partitions.get(plan.topic) ?? 0, config.get(plan.topic) ?? new Map<string, string>()),
  );
  if (mismatches.length > 0) throw new TopicMismatchError(mismatches);
}
