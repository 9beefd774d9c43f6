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
        'Run the commands above, change the settings to what is there, or use other brokers. ' +
        'Never alter the number of partitions: it moves organizations.',
    );
  }
}

/** How to wait for brokers that are not ready yet, and whom to tell. */
export type WaitForTopics = Partial<Pick<StartStepOptions, 'onWait' | 'signal' | 'limitMs'>>;

/** Segments that a few minutes of checkpoints fill: only a full or old segment is compacted. */
const SMALL_SEGMENTS = {
  'segment.bytes': String(1024 * 1024),
  'segment.ms': String(10 * 60_000),
  'min.cleanable.dirty.ratio': '0.1',
  'delete.retention.ms': String(60 * 60_000),
} as const;

function configOf(plan: TopicPlan): Readonly<Record<string, string>> {
  return {
    'cleanup.policy': plan.compacted ? 'compact' : 'delete',
    'retention.ms': String(plan.retentionMs),
    // A broker may have a default that removes records before their time.
    'retention.bytes': '-1',
    'message.timestamp.type': plan.appendTime ? 'LogAppendTime' : 'CreateTime',
    'max.message.bytes': String(LARGEST_BATCH_BYTES),
    ...(plan.smallSegments === true ? SMALL_SEGMENTS : {}),
  };
}

/** What an operator runs to make the topic what it has to be; without it, `name` and `value` say enough. */
function alterCommand(topic: string, name: string, value: string): string {
  return (
    'kafka-configs.sh --bootstrap-server <broker> --alter --entity-type topics ' +
    `--entity-name ${topic} --add-config ${name}=${value}`
  );
}

/** A topic may keep records longer than needed and clean itself more often, never the other way round. */
function mismatchOf(name: string, actual: string, wanted: string, plan: TopicPlan): string | null {
  switch (name) {
    case 'retention.ms':
      if (plan.compacted || Number(actual) === -1 || Number(actual) >= plan.retentionMs) return null;
      return `keeps records for ${actual} ms, at least ${wanted} ms are needed`;
    case 'max.message.bytes':
      return Number(actual) >= Number(wanted) ? null : `takes ${name} ${actual}, at least ${wanted} are needed`;
    case 'segment.bytes':
    case 'segment.ms':
    case 'min.cleanable.dirty.ratio':
      return Number(actual) <= Number(wanted) ? null : `has ${name}=${actual}, at most ${wanted} is needed`;
    case 'delete.retention.ms':
      return null;
    default:
      return actual === wanted ? null : `has ${name}=${actual}, ${wanted} is needed`;
  }
}

function mismatchesOf(plan: TopicPlan, partitions: number, config: ReadonlyMap<string, string>): readonly string[] {
  const found: string[] = [];
  if (partitions !== plan.partitions) {
    found.push(`${plan.topic} has ${partitions} partitions, PARTITIONS asks for ${plan.partitions}`);
  }
  for (const [name, wanted] of Object.entries(configOf(plan))) {
    const actual = config.get(name) ?? '';
    const what = mismatchOf(name, actual, wanted, plan);
    if (what !== null) found.push(`${plan.topic} ${what}; run: ${alterCommand(plan.topic, name, wanted)}`);
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
