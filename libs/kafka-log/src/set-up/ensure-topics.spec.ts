import { describe, expect, it } from '@jest/globals';
import type { Admin } from 'kafkajs';
import { ensureTopics, TopicMismatchError } from './ensure-topics.js';
import { LASTING_KAFKA_ERRORS, PASSING_KAFKA_ERRORS } from '../testing/passing-kafka-errors.js';
import { topicNames, topicPlans } from '../topics/topics.js';

const SETTINGS = { partitions: 2, retentionMs: 86_400_000, retrySchedule: [10_000] };
const plans = topicPlans(topicNames('t', SETTINGS.retrySchedule), SETTINGS);

const STEPS = [
  'listTopics',
  'createTopics',
  'fetchTopicOffsets',
  'fetchTopicMetadata',
  'describeConfigs',
  'describeCluster',
  'alterConfigs',
] as const;
type Step = (typeof STEPS)[number];

interface TopicToMake {
  readonly topic: string;
  readonly numPartitions: number;
  readonly configEntries: readonly { readonly name: string; readonly value: string }[];
}

interface AlteredResource {
  readonly name: string;
  readonly configEntries: TopicToMake['configEntries'];
}

/** What Kafka has unless somebody says something else. */
const DEFAULTS: TopicToMake['configEntries'] = [{ name: 'min.insync.replicas', value: '1' }];

/** A broker that holds topics, and whose answer to one kind of request is an error the first few times. */
class BusyBroker {
  readonly topics = new Map<string, TopicToMake>();
  readonly calls: Step[] = [];
  /** The topics whose settings are not altered, although those of others are. */
  refused: readonly string[] = [];

  constructor(
    private readonly failing: Step,
    private readonly error: Error,
    private times: number,
    private readonly replicas: readonly number[] = [0],
  ) {}

  set(topic: string, settings: Readonly<Record<string, string>>): void {
    const made = this.topics.get(topic)!;
    const kept = made.configEntries.filter(({ name }) => settings[name] === undefined);
    const changed = Object.entries(settings).map(([name, value]) => ({ name, value }));
    this.topics.set(topic, { ...made, configEntries: [...kept, ...changed] });
  }

  get admin(): Admin {
    const answers: Record<Step, (request: never) => unknown> = {
      listTopics: () => [...this.topics.keys()],
      createTopics: ({ topics }: { topics: readonly TopicToMake[] }) => {
        for (const topic of topics) this.topics.set(topic.topic, topic);
        return true;
      },
      fetchTopicOffsets: () => [],
      fetchTopicMetadata: () => ({
        topics: [...this.topics.values()].map(({ topic, numPartitions }) => ({
          name: topic,
          partitions: Array.from({ length: numPartitions }, () => ({ replicas: this.replicas })),
        })),
      }),
      alterConfigs: ({ resources }: { resources: readonly AlteredResource[] }) => {
        for (const { name, configEntries } of resources) {
          const topic = this.topics.get(name);
          if (topic !== undefined && !this.refused.includes(name)) this.topics.set(name, { ...topic, configEntries });
        }
      },
      describeCluster: () => ({ brokers: this.replicas.map((nodeId) => ({ nodeId })) }),
      describeConfigs: () => ({
        resources: [...this.topics.values()].map(({ topic, configEntries }) => ({
          resourceName: topic,
          configEntries: [...DEFAULTS, ...configEntries].map(({ name, value }) => ({
            configName: name,
            configValue: value,
            configSource: DEFAULTS.some((entry) => entry.name === name) ? 5 : 1,
          })),
        })),
      }),
    };
    return Object.fromEntries(
      STEPS.map((step) => [step, (request: never) => this.#answer(step, () => answers[step](request))]),
    ) as unknown as Admin;
  }

  #answer(step: Step, answer: () => unknown): Promise<unknown> {
    this.calls.push(step);
    // What the request asked for may be done all the same: only the answer is lost.
    const answered = answer();
    return step === this.failing && this.times-- > 0 ? Promise.reject(this.error) : Promise.resolve(answered);
  }
}

describe('topics on brokers that have just started, or are busy', () => {
  it.concurrent.each(STEPS)('are made although %s fails, whatever the error that passes', async (step) => {
    await Promise.all(
      PASSING_KAFKA_ERRORS.map(async (error) => {
        const broker = new BusyBroker(step, error, 2, [0, 1, 2]);
        const waits: string[] = [];
        await ensureTopics(broker.admin, plans, { onWait: (reason) => waits.push(reason) });
        expect([...broker.topics.keys()]).toEqual(plans.map(({ topic }) => topic));
        // What was altered, though its answer was lost, is not altered again.
        expect(waits).toHaveLength(step === 'alterConfigs' ? 1 : 2);
        for (const reason of waits) expect(reason).toMatch(/^waiting for .+: .*/);
        expect(waits[0]).toContain(error.message);
      }),
    );
  });

  it.concurrent(
    'are waited for longer than any election takes: a leader that is missing 6 times in a row',
    async () => {
      const broker = new BusyBroker('fetchTopicOffsets', PASSING_KAFKA_ERRORS[0]!, 6);
      await ensureTopics(broker.admin, plans);
      expect(broker.calls.filter((step) => step === 'fetchTopicOffsets')).toHaveLength(plans.length + 6);
    },
  );

  it.each(STEPS)('are given up at once when %s fails for good', async (step) => {
    for (const error of LASTING_KAFKA_ERRORS) {
      const broker = new BusyBroker(step, error, 1, [0, 1, 2]);
      await expect(ensureTopics(broker.admin, plans)).rejects.toBe(error);
    }
  });

  it('are set up so that two of three brokers have a record before it is acknowledged', async () => {
    const broker = new BusyBroker('listTopics', new Error('never thrown'), 0, [0, 1, 2]);
    const { risks } = await ensureTopics(broker.admin, plans);
    expect(risks).toEqual([]);
    for (const { configEntries } of broker.topics.values()) {
      expect(configEntries).toContainEqual({ name: 'min.insync.replicas', value: '2' });
      expect(configEntries.length).toBeGreaterThan(4);
    }
  });

  it('are reported when they keep records for longer than the settings ask for', async () => {
    const { admin } = new BusyBroker('listTopics', new Error('never thrown'), 0);
    expect((await ensureTopics(admin, plans)).longer).toEqual([]);
    const lowered = topicPlans(topicNames('t', SETTINGS.retrySchedule), { ...SETTINGS, retentionMs: 3_600_000 });
    const kept = { retentionMs: 3 * 86_400_000, plannedMs: 2 * 86_400_000 + 3_600_000 };
    expect((await ensureTopics(admin, lowered)).longer).toEqual(
      ['t.log.v1', 't.deliveries.v1'].map((topic) => ({ topic, ...kept })),
    );
  });

  it('are reported when the brokers refuse to stamp their records, each with the command', async () => {
    const refuses = new BusyBroker('alterConfigs', LASTING_KAFKA_ERRORS[1]!, Infinity);
    expect((await ensureTopics(refuses.admin, plans)).unaltered).toEqual([]);
    refuses.refused = ['t.attempts.v1', 't.staff-alerts.v1'];
    for (const topic of refuses.refused) refuses.set(topic, { 'message.timestamp.type': 'CreateTime' });
    const { unaltered } = await ensureTopics(refuses.admin, plans);
    expect(unaltered.map(({ topic }) => topic)).toEqual(refuses.refused);
    expect(unaltered[0]!.risk).toMatch(
      /^has message\.timestamp\.type=CreateTime.* run: kafka-configs\.sh .* --entity-name t\.attempts\.v1 --add-config message\.timestamp\.type=LogAppendTime$/,
    );
  });

  it('are reported if the brokers refuse to alter them, and not if they have altered them in the same request', async () => {
    const broker = new BusyBroker('alterConfigs', LASTING_KAFKA_ERRORS[1]!, Infinity);
    await ensureTopics(broker.admin, plans);
    const [refused, altered] = ['t.attempts.v1', 't.staff-alerts.v1'] as const;
    for (const topic of [refused, altered]) broker.set(topic, { 'message.timestamp.type': 'CreateTime' });
    broker.set('t.log.v1', { 'compression.type': 'producer' });
    broker.refused = [refused];
    const { unaltered } = await ensureTopics(broker.admin, plans);
    expect(unaltered.map(({ topic }) => topic)).toEqual([refused]);
  });

  it('are given up when nothing helps for too long, and the error says what was waited for', async () => {
    const broker = new BusyBroker('fetchTopicOffsets', PASSING_KAFKA_ERRORS[0]!, Infinity);
    await expect(ensureTopics(broker.admin, plans, { limitMs: 150 })).rejects.toThrow(
      'for the leaders of t.inbox.v1, and gave up: This server is not the leader for that topic-partition',
    );
  });

  it('are checked even when another process, with other settings, has just made them', async () => {
    const broker = new BusyBroker('listTopics', new Error('never thrown'), 0);
    const { admin } = broker;
    await ensureTopics({ ...admin, listTopics: () => Promise.resolve([]) }, plans);
    const others = plans.map((plan) => ({ ...plan, partitions: 3 }));
    const late = { ...admin, listTopics: () => Promise.resolve([]), createTopics: () => Promise.resolve(false) };
    await expect(ensureTopics(late, others)).rejects.toThrow(TopicMismatchError);
  });
});
