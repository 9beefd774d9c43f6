import { setTimeout as delay } from 'node:timers/promises';
import kafkajs, { type Admin } from 'kafkajs';
import { OperatorError } from '#libs/domain';
import { startStep, type StartStepOptions } from '#libs/runtime';
import { alterFromNowOn, isToAlter } from './alter-from-now-on.js';
import { alterTopics } from './alter-topics.js';
import { findTopics, type FoundTopics } from './found-topics.js';
import { isPassingKafkaError } from '../connection/is-passing-kafka-error.js';
import {
  alterText,
  APPEND_TIME,
  configOf,
  CREATE_TIME,
  JUDGED_SETTINGS,
  judgeTopic,
  misfitText,
  TIMESTAMP_TYPE,
  type FoundTopic,
} from './judge-topic.js';
import { topicBounds } from '../reading/log-positions.js';
import type { TopicPlan } from '../topics/topics.js';

/** A topic does not match the settings. An operator must decide which of the two is right. */
export class TopicMismatchError extends OperatorError {
  override readonly name = 'TopicMismatchError';
  constructor(readonly mismatches: readonly string[]) {
    super(
      `existing topics do not fit the settings:\n${mismatches.map((mismatch) => `  - ${mismatch}`).join('\n')}\n` +
        'Run the commands above, change the settings to what is there, or use other brokers. ' +
        'Never alter the number of partitions: it moves organizations.',
    );
  }
}

/** How to wait for brokers that are not ready yet, and how to report it. */
export type WaitForTopics = Partial<Pick<StartStepOptions, 'onWait' | 'signal' | 'limitMs'>>;

/** A topic with settings that are accepted although they have a risk. */
export interface TopicRisk {
  readonly topic: string;
  readonly risk: string;
}

/** A topic that keeps records for longer than planned: -1 ms for no limit. */
export interface LongerTopic {
  readonly topic: string;
  readonly retentionMs: number;
  readonly plannedMs: number;
}

/** The state of the topics, as far as operators choose it. */
export interface EnsuredTopics {
  readonly risks: readonly TopicRisk[];
  readonly longer: readonly LongerTopic[];
  /** Topics whose records have the times of their producers, because the brokers let nobody alter that. */
  readonly unaltered: readonly TopicRisk[];
  /** Topics that have more partitions than the installation, with an operator's consent. */
  readonly grown: readonly string[];
  readonly brokers: number;
}

export interface EnsureTopicsOptions extends WaitForTopics {
  /** The number of partitions that an operator accepted, for topics with more than the installation. */
  readonly accepted?: ReadonlyMap<string, number>;
}

/** How often, and at which interval, altered settings are read until they show. */
const ALTERED_LOOKS = 50;
const ALTERED_LOOK_MS = 200;
/** The same after a refusal. Some topics may be altered all the same, and the others never will be. */
const REFUSED_LOOKS = 3;

/**
 * Creates missing topics and checks all. The replication factor is the broker's default. It repeats each step while the
 * brokers are not ready for it: they may just have started, or be busy.
 * @throws TopicMismatchError
 * @throws StartStepError when a step does not succeed within 5 minutes
 */
export async function ensureTopics(
  admin: Admin,
  plans: readonly TopicPlan[],
  { accepted, ...wait }: EnsureTopicsOptions = {},
): Promise<EnsuredTopics> {
  const step = <T>(what: string, act: () => Promise<T>): Promise<T> =>
    startStep(what, act, { isPassing: isPassingKafkaError, onWait: () => undefined, ...wait });

  const existing = new Set(await step('the list of topics', () => admin.listTopics()));
  const missing = plans.filter((plan) => !existing.has(plan.topic));
  if (missing.length > 0) await create(admin, missing, step);
  // Check new topics as well: another process with other settings may have created them.
  const find = () =>
    findTopics(
      admin,
      plans.map((plan) => plan.topic),
    );
  let { topics, brokers } = await step('the settings of the topics', find);
  const outcome = await step('topics to be altered', () => alterFromNowOn(admin, plans, topics));
  if (outcome !== 'fits') {
    // A broker shows an altered setting only after it has read that itself.
    const looks = outcome === 'altered' ? ALTERED_LOOKS : REFUSED_LOOKS;
    for (let look = 0; look < looks && plans.some((plan) => isToAlter(plan, topics)); look++) {
      if (look > 0) await delay(ALTERED_LOOK_MS);
      ({ topics, brokers } = await step('the settings of the topics', find));
    }
  }
  const { mismatches, risks, longer } = judgeTopics(plans, { topics, brokers }, accepted);
  if (mismatches.length > 0) throw new TopicMismatchError(mismatches);
  const grown = plans.filter(({ topic, partitions }) => (topics.get(topic) ?? MISSING).partitions > partitions);
  return { risks, longer, unaltered: unalteredTopics(plans, topics), grown: grown.map(({ topic }) => topic), brokers };
}

/**
 * Returns what is wrong with the topics now, with the commands that correct it, and what puts their events at risk:
 * settings can be altered while processes run.
 */
export async function inspectTopics(
  admin: Admin,
  plans: readonly TopicPlan[],
  accepted: () => Promise<ReadonlyMap<string, number>>,
): Promise<Pick<EnsuredTopics, 'risks'> & { readonly mismatches: readonly string[] }> {
  const find = (some: readonly TopicPlan[]) =>
    findTopics(
      admin,
      some.map(({ topic }) => topic),
      JUDGED_SETTINGS,
    );
  let present = plans;
  let found: FoundTopics;
  try {
    found = await find(plans);
  } catch (error) {
    if (!(error instanceof kafkajs.KafkaJSProtocolError) || error.type !== 'UNKNOWN_TOPIC_OR_PARTITION') throw error;
    const existing = new Set(await admin.listTopics());
    present = plans.filter(({ topic }) => existing.has(topic));
    found = await find(present);
  }
  const missing = plans.filter((plan) => !present.includes(plan)).map(({ topic }) => `${topic} does not exist`);
  const isAccepted = judgeTopics(present, found).mismatches.length === 0;
  const { mismatches, risks } = judgeTopics(present, found, isAccepted ? undefined : await accepted());
  return { mismatches: [...missing, ...mismatches], risks };
}

function judgeTopics(
  plans: readonly TopicPlan[],
  { topics, brokers }: FoundTopics,
  accepted?: ReadonlyMap<string, number>,
): Pick<EnsuredTopics, 'risks' | 'longer'> & { readonly mismatches: readonly string[] } {
  const verdicts = plans.map((plan) => {
    const { topic, retentionMs: plannedMs } = plan;
    const acceptedPartitions = accepted?.get(topic) ?? 0;
    return { topic, plannedMs, ...judgeTopic(plan, topics.get(topic) ?? MISSING, { brokers, acceptedPartitions }) };
  });
  return {
    mismatches: verdicts.flatMap(({ topic, misfits }) => misfits.map((misfit) => misfitText(topic, misfit))),
    risks: verdicts.flatMap(({ topic, risks }) => risks.map((risk) => ({ topic, risk }))),
    longer: verdicts.flatMap(({ topic, plannedMs, longerMs: retentionMs }) =>
      retentionMs === null ? [] : [{ topic, retentionMs, plannedMs }],
    ),
  };
}

function unalteredTopics(plans: readonly TopicPlan[], topics: FoundTopics['topics']): readonly TopicRisk[] {
  const reason =
    `has ${TIMESTAMP_TYPE}=${CREATE_TIME}, and the brokers refused to alter that: ` +
    'a process whose clock is more than an hour ahead cannot write to it';
  return plans
    .filter((plan) => isToAlter(plan, topics))
    .map(({ topic }) => ({
      topic,
      risk: `${reason}; ${alterText(topic, { name: TIMESTAMP_TYPE, value: APPEND_TIME })}`,
    }));
}

/** Stands for a topic whose settings the brokers do not report. */
const MISSING: FoundTopic = { partitions: 0, replicas: 0, config: new Map() };

async function create(
  admin: Admin,
  missing: readonly TopicPlan[],
  step: <T>(what: string, act: () => Promise<T>) => Promise<T>,
): Promise<void> {
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
  // A broker refuses requests until it knows that it is the leader, shortly after its election.
  for (const { topic } of missing) {
    // Reading all bounds fails while one partition has no leader.
    await step(`the leaders of ${topic}`, async () => [...topicBounds(topic, await admin.fetchTopicOffsets(topic))]);
  }
  // The brokers' default is 1, and a topic's number of replicas is known only after its creation.
  await step('the new topics to be set up', () => alterTopics(admin, missing, 'min.insync.replicas'));
}
