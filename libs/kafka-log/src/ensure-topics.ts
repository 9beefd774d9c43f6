import kafkajs, { type Admin } from 'kafkajs';
import { untilItWorks } from '#libs/runtime';
import { LARGEST_BATCH_BYTES } from './limits.js';
import type { TopicPlan } from './topics.js';

/** What is on the broker is not what the settings ask for; an operator has to decide which of them is right. */
export class TopicMismatchError extends Error {
  override readonly name = 'TopicMismatchError';
  constructor(readonly mismatches: readonly string[]) {
    super(
      `existing topics do not fit the settings:\n${mismatches.map((mismatch) => `  - ${mismatch}`).join('\n')}\n` +
        'Change the settings to what is there, alter the topics, or use other brokers.',
    );
  }
}

/** Some seconds in all. */
const SERVED_ATTEMPTS = 6;

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

/** A leader is named a moment before it knows that it is one, and says until then that it is not. */
async function untilServed(admin: Admin, topic: string): Promise<void> {
  await untilItWorks(() => admin.fetchTopicOffsets(topic), {
    onFailure: (error, failures) => {
      if (failures === SERVED_ATTEMPTS) throw error;
    },
  });
}

/**
 * Creates the topics that are missing and checks the ones that are there. The replication factor is the broker's own
 * default.
 * @throws TopicMismatchError
 */
export async function ensureTopics(admin: Admin, plans: readonly TopicPlan[]): Promise<void> {
  const existing = new Set(await admin.listTopics());
  const missing = plans.filter((plan) => !existing.has(plan.topic));
  if (missing.length > 0) {
    await admin.createTopics({
      waitForLeaders: true,
      topics: missing.map((plan) => ({
        topic: plan.topic,
        numPartitions: plan.partitions,
        replicationFactor: -1,
        configEntries: Object.entries(configOf(plan)).map(([name, value]) => ({ name, value })),
      })),
    });
    for (const { topic } of missing) await untilServed(admin, topic);
  }
  const present = plans.filter((plan) => existing.has(plan.topic));
  if (present.length === 0) return;
  const [metadata, configs] = await Promise.all([
    admin.fetchTopicMetadata({ topics: present.map((plan) => plan.topic) }),
    admin.describeConfigs({
      includeSynonyms: false,
      resources: present.map((plan) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name: plan.topic })),
    }),
  ]);
  const partitions = new Map(metadata.topics.map((topic) => [topic.name, topic.partitions.length]));
  const config = new Map(
    configs.resources.map((resource) => [
      resource.resourceName,
      new Map(resource.configEntries.map((entry) => [entry.configName, entry.configValue])),
    ]),
  );
  const mismatches = present.flatMap((plan) =>
    mismatchesOf(plan, partitions.get(plan.topic) ?? 0, config.get(plan.topic) ?? new Map<string, string>()),
  );
  if (mismatches.length > 0) throw new TopicMismatchError(mismatches);
}
