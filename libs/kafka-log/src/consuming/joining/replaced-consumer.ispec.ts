import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { createLogger, HealthBoard } from '#libs/runtime';
import { membersOf } from '../../../../../test/support/group-members.js';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import { withLongSessions } from '../../../../../test/support/long-sessions.js';
import { oneTo } from '../../../../../test/support/sequence.js';
import { makeTopics } from '../../../../../test/support/topics.js';
import { KafkaConnection } from '../../connection/kafka-connection.js';
import { PartitionWriter } from '../../producing/partition-writer.js';
import { BatchConsumer } from '../batch-consumer.js';

type JoinGroup = (this: unknown, wanted: object) => Promise<unknown>;

const { prototype: broker } = createRequire(import.meta.url)('kafkajs/src/broker/index.js') as {
  readonly prototype: { joinGroup: JoinGroup };
};

/** How long the first join takes, milliseconds: as with brokers that wait for more members of a new group. */
const FIRST_JOIN_MS = 3_000;
const PARTITIONS = 4;

const brokers = process.env['TEST_KAFKA_BROKERS']!;
const logger = createLogger('silent', 'test');
const connection = withLongSessions(new KafkaConnection({ brokers: brokers.split(','), clientId: 'test', logger }));

let topic: string;
let groupId: string;
let batches: BatchConsumer;
let handled: string[];

beforeEach(async () => {
  [topic, handled] = [`t${randomBytes(6).toString('hex')}`, []];
  groupId = `${topic}-group`;
  const plan = { topic, partitions: PARTITIONS, retentionMs: -1, compacted: false, appendTime: false };
  await makeTopics(connection, [plan]);
  batches = new BatchConsumer(
    connection,
    {
      groupId,
      group: 'test',
      topics: [topic],
      commits: 'after',
      handle: ({ partition, records }) => {
        handled.push(...records.map(({ offset }) => `${partition}/${offset}`));
        return Promise.resolve(undefined);
      },
      onSession: () => undefined,
    },
    logger,
    new HealthBoard(),
  );
});

afterEach(async () => {
  jest.restoreAllMocks();
  await batches.stop();
});

/** Starts the consumer, and resolves while its first join is under way. */
async function startToJoin(): Promise<{ readonly started: Promise<void>; readonly joined: Promise<void> }> {
  const { joinGroup } = broker;
  let answered: () => void = () => undefined;
  const joined = new Promise<void>((resolve) => (answered = resolve));
  let isUnderWay = false;
  jest.spyOn(broker, 'joinGroup').mockImplementation(async function (this: unknown, wanted) {
    const answer = await joinGroup.call(this, wanted);
    if (isUnderWay) return answer;
    isUnderWay = true;
    await delay(FIRST_JOIN_MS);
    answered();
    return answer;
  });
  const started = batches.start();
  await eventually(() => {
    expect(isUnderWay).toBe(true);
  });
  return { started, joined };
}

it('a consumer whose clock is set during its first join handles all partitions', async () => {
  const { started, joined } = await startToJoin();
  const now = Date.now.bind(Date);
  jest.spyOn(Date, 'now').mockImplementation(() => now() + 600_000);
  await Promise.all([started, joined]);
  // Until the one that was replaced has joined, and left.
  await delay(1_000);
  await eventually(async () => {
    expect(await membersOf(brokers, groupId)).toHaveLength(1);
  });
  const writer = new PartitionWriter(connection);
  const partitions = oneTo(PARTITIONS).map((n) => n - 1);
  for (const partition of partitions) await writer.write(topic, partition, [{ key: null, value: Buffer.from('a') }]);
  await writer.close();
  await eventually(() => {
    expect(handled.toSorted()).toEqual(partitions.map((partition) => `${partition}/0`));
  });
});

it('a consumer that is stopped during its first join leaves its group', async () => {
  const { joined } = await startToJoin();
  await batches.stop();
  await joined;
  // Less than a session lasts.
  await eventually(
    async () => {
      expect(await membersOf(brokers, groupId)).toEqual([]);
    },
    { timeoutMs: 8_000 },
  );
});
