import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigResourceTypes, type Admin } from 'kafkajs';
import { createLogger } from '#libs/runtime';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { makePlainTopics } from '../../../../test/support/topics.js';
import { alterTopics } from './alter-topics.js';
import { ensureTopics, TopicMismatchError } from './ensure-topics.js';
import { KafkaConnection } from '../connection/kafka-connection.js';
import { topicNames, topicPlans, type TopicNames, type TopicPlan } from '../topics/topics.js';

const DAY_MS = 86_400_000;
const SETTINGS = { partitions: 3, retentionMs: 30 * DAY_MS, retrySchedule: [10_000, 6 * 3_600_000] };

const connection = new KafkaConnection({
  brokers: process.env['TEST_KAFKA_BROKERS']!.split(','),
  clientId: 'test',
  logger: createLogger('silent', 'test'),
});

let names: TopicNames;
let plans: readonly TopicPlan[];

beforeEach(() => {
  names = topicNames(`t${randomBytes(4).toString('hex')}`, SETTINGS.retrySchedule);
  plans = topicPlans(names, SETTINGS);
});

async function ensure(wanted: readonly TopicPlan[] = plans): Promise<void> {
  await connection.withAdmin((admin) => ensureTopics(admin, wanted));
}

async function partitionsOf(admin: Admin, topic: string): Promise<number> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  return topics[0]!.partitions.length;
}

/** What the broker says of the topic. */
async function found(topic: string): Promise<Readonly<Record<string, string | number>>> {
  return connection.withAdmin(async (admin) => {
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }],
    });
    const config = new Map(resources[0]!.configEntries.map((entry) => [entry.configName, entry.configValue]));
    return {
      partitions: await partitionsOf(admin, topic),
      retention: Number(config.get('retention.ms')),
      cleanup: config.get('cleanup.policy')!,
      timestamps: config.get('message.timestamp.type')!,
      segments: Number(config.get('segment.bytes')),
    };
  });
}

async function create(topic: string, numPartitions: number, config: Readonly<Record<string, string>>): Promise<void> {
  const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
  await connection.withAdmin((admin) => makePlainTopics(admin, [{ topic, numPartitions, configEntries }]));
}

/** Returns the complaints; none when all is well. */
async function mismatches(): Promise<readonly string[]> {
  try {
    await ensure();
    return [];
  } catch (error) {
    if (error instanceof TopicMismatchError) return error.mismatches;
    throw error;
  }
}

describe('the topics', () => {
  it('are made with the partitions, the retention and the clean-up of the architecture', async () => {
    await ensure();
    const work = { partitions: 3, retention: 7 * DAY_MS, cleanup: 'delete', timestamps: 'LogAppendTime' };
    expect(await found(names.inbox)).toMatchObject(work);
    expect(await found(names.log)).toMatchObject({ ...work, retention: 32 * DAY_MS });
    expect(await found(names.sequences)).toMatchObject({ ...work, retention: -1, cleanup: 'compact' });
    expect(await found(names.attempts)).toMatchObject(work);
    expect(await found(names.attemptsSlow)).toMatchObject(work);
    expect(await found(names.retry[0]!)).toMatchObject({ ...work, retention: 7 * DAY_MS + 10_000 });
    expect(await found(names.retry[1]!)).toMatchObject({ ...work, retention: 7 * DAY_MS + 6 * 3_600_000 });
    expect(await found(names.deliveries)).toMatchObject({ ...work, retention: 32 * DAY_MS });
    expect(await found(names.deadLetter)).toMatchObject({ ...work, retention: 30 * DAY_MS });
    expect(await found(names.staffAlerts)).toMatchObject(work);
  });

  it('are left as they are when they are there already', async () => {
    await ensure();
    expect(await mismatches()).toEqual([]);
  });

  it('are made once by processes that start at the same time', async () => {
    await Promise.all([ensure(), ensure(), ensure()]);
    await eventually(async () => {
      expect(await mismatches()).toEqual([]);
    });
  });

  it('are completed when some of them are there', async () => {
    await ensure(plans.filter(({ topic }) => topic !== names.log));
    await ensure();
    expect(await found(names.log)).toMatchObject({ partitions: 3 });
  });
});

describe('an inbox from before brokers had to unpack', () => {
  it('is altered, and keeps the other settings that it was given', async () => {
    await ensure();
    const configOfInbox = async () => {
      const resources = [{ type: ConfigResourceTypes.TOPIC, name: names.inbox }];
      const answer = await connection.withAdmin((admin) =>
        admin.describeConfigs({ includeSynonyms: false, resources }),
      );
      return new Map(answer.resources[0]!.configEntries.map((entry) => [entry.configName, entry.configValue]));
    };
    const before = await configOfInbox();
    expect(before.get('compression.type')).toBe('uncompressed');
    const kept = ['cleanup.policy', 'retention.bytes', 'message.timestamp.type', 'max.message.bytes'];
    const given = { 'retention.ms': String(60 * DAY_MS), 'segment.ms': '3600000', 'compression.type': 'producer' };
    const configEntries = Object.entries({
      ...Object.fromEntries(kept.map((name) => [name, before.get(name)!])),
      ...given,
    }).map(([name, value]) => ({ name, value }));
    const resources = [{ type: ConfigResourceTypes.TOPIC, name: names.inbox, configEntries }];
    await connection.withAdmin((admin) => admin.alterConfigs({ validateOnly: false, resources }));
    await eventually(async () => {
      expect((await configOfInbox()).get('compression.type')).toBe('producer');
    });
    await ensure();
    await eventually(async () => {
      const after = await configOfInbox();
      expect(after.get('compression.type')).toBe('uncompressed');
      expect(after.get('retention.ms')).toBe(given['retention.ms']);
      expect(after.get('segment.ms')).toBe(given['segment.ms']);
      for (const name of kept) expect([name, after.get(name)]).toEqual([name, before.get(name)]);
    });
  });
});

describe('topics with the times of their producers', () => {
  it('are altered, so that brokers take the records of a process whose clock is ahead', async () => {
    await create(names.attempts, 3, { 'message.timestamp.type': 'CreateTime', 'segment.bytes': '1234567' });
    await ensure();
    await eventually(async () => {
      expect(await found(names.attempts)).toMatchObject({ timestamps: 'LogAppendTime', segments: 1_234_567 });
    });
  });
});

describe('topics that do not fit the settings', () => {
  it('are refused with everything that differs, each with what is there and what is needed', async () => {
    await create(names.log, 2, { 'retention.ms': String(DAY_MS) });
    await create(names.sequences, 3, { 'cleanup.policy': 'delete' });
    await create(names.inbox, 3, { 'max.message.bytes': '1000' });
    await create(names.deliveries, 3, { 'retention.ms': String(32 * DAY_MS), 'retention.bytes': '1000000' });
    const told = await mismatches();
    const expected = [
      `${names.log} has 2 partitions, PARTITIONS asks for 3`,
      `${names.log} keeps records for ${DAY_MS} ms, at least ${32 * DAY_MS} ms are needed`,
      `${names.log} has message.timestamp.type=CreateTime, LogAppendTime is needed`,
      `${names.sequences} has cleanup.policy=delete, compact is needed`,
      `${names.sequences} has segment.bytes=1073741824, at most 1048576 is needed`,
      `${names.sequences} has segment.ms=604800000, at most 600000 is needed`,
      `${names.sequences} has min.cleanable.dirty.ratio=0.5, at most 0.1 is needed`,
      `${names.inbox} has message.timestamp.type=CreateTime, LogAppendTime is needed; run: kafka-configs.sh --bootstrap-server <broker> --alter --entity-type topics --entity-name ${names.inbox} --add-config message.timestamp.type=LogAppendTime`,
      `${names.inbox} takes max.message.bytes 1000, at least `,
      `${names.deliveries} has retention.bytes=1000000, -1 is needed`,
    ];
    for (const text of expected) expect(told).toContainEqual(expect.stringContaining(text));
    // The embedded broker's own limit is above what is needed, another one's need not be.
    const others = told.filter((text) => !expected.some((start) => text.startsWith(start)));
    for (const text of others) expect(text).toMatch(/takes max\.message\.bytes/);
  });

  it('may keep records for longer than is needed, and for ever', async () => {
    const others = { 'message.timestamp.type': 'LogAppendTime', 'max.message.bytes': String(16 * 1024 * 1024) };
    await create(names.log, 3, { ...others, 'retention.ms': String(400 * DAY_MS) });
    await create(names.inbox, 3, { ...others, 'retention.ms': '-1' });
    expect(await mismatches()).toEqual([]);
  });

  it('say in their message what an operator can do', async () => {
    await create(names.log, 2, {});
    await expect(ensure()).rejects.toThrow(/existing topics do not fit the settings:[^]*change the settings/);
  });
});

describe('topics of brokers that are our own', () => {
  it('are altered to what is needed, and keep what else was set', async () => {
    await create(names.inbox, 3, {
      'message.timestamp.type': 'CreateTime',
      'max.message.bytes': '1000',
      'retention.ms': '-1',
      'segment.bytes': '1234567',
    });
    await create(names.sequences, 3, { 'cleanup.policy': 'delete' });
    const altered = await connection.withAdmin((admin) => alterTopics(admin, plans));
    expect(altered).toContainEqual({
      topic: names.inbox,
      name: 'message.timestamp.type',
      from: 'CreateTime',
      to: 'LogAppendTime',
    });
    await eventually(async () => {
      expect(await mismatches()).toEqual([]);
    });
    expect(await found(names.inbox)).toMatchObject({ retention: -1, timestamps: 'LogAppendTime', segments: 1_234_567 });
    expect(await connection.withAdmin((admin) => alterTopics(admin, plans))).toEqual([]);
  });

  it('are left alone when they have another number of partitions', async () => {
    await create(names.inbox, 5, {});
    await connection.withAdmin((admin) => alterTopics(admin, plans));
    expect(await mismatches()).toEqual([expect.stringContaining(`${names.inbox} has 5 partitions`)]);
  });
});
