import { afterEach, expect, it, jest } from '@jest/globals';
import type { ConsumerConfig, Kafka } from 'kafkajs';
import { createLogger, HealthBoard } from '#libs/runtime';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import { KafkaConnection } from '../../connection/kafka-connection.js';
import { FakeConsumer } from '../../testing/fake-consumer.js';
import { BatchConsumer } from '../batch-consumer.js';
import type { ConsumerSession } from '../consumer-sessions.js';

afterEach(() => {
  jest.restoreAllMocks();
});

/** A batch consumer, and the consumers of kafkajs that it has made. */
function aBatchConsumer() {
  const logger = createLogger('silent', 'test');
  const made: FakeConsumer[] = [];
  const handled: number[] = [];
  const sessions: (ConsumerSession | null)[] = [];
  const kafka = {
    consumer: (config: ConsumerConfig) => {
      made.push(new FakeConsumer(() => false));
      return made.at(-1)?.kafka.consumer(config);
    },
    admin: () => made[0]?.kafka.admin(),
  } as unknown as Kafka;
  const batches = new BatchConsumer(
    new KafkaConnection({ brokers: [], clientId: 'test', logger, kafka }),
    {
      groupId: 'test-group',
      group: 'group',
      topics: ['topic'],
      commits: 'after',
      handle: ({ records }) => {
        handled.push(...records.map(({ offset }) => offset));
        return Promise.resolve(undefined);
      },
      onSession: (session) => sessions.push(session),
      positions: () => Promise.resolve(new Map()),
    },
    logger,
    new HealthBoard(),
  );
  return { batches, made, handled, sessions };
}

it('a consumer that was replaced ends nothing of its successor when it joins again', async () => {
  const { batches, made, handled, sessions } = aBatchConsumer();
  await batches.start();
  const now = Date.now.bind(Date);
  jest.spyOn(Date, 'now').mockImplementation(() => now() + 600_000);
  await eventually(() => {
    expect([made.length, sessions.at(-1)?.holdsLease()]).toEqual([2, true]);
  });
  const [replaced, current] = made;
  await replaced?.join();
  expect(sessions.at(-1)?.holdsLease()).toBe(true);
  await current?.handOver(0);
  await eventually(() => {
    expect([handled, current?.committed]).toEqual([[0], ['1']]);
  });
  await batches.stop();
});

it('a join that ends after the consumer was stopped begins no session', async () => {
  const { batches, made, sessions } = aBatchConsumer();
  await batches.start();
  let assign: () => void = () => undefined;
  const joined = made[0]?.join(new Promise((resolve) => (assign = resolve)));
  await batches.stop();
  assign();
  await joined;
  expect(sessions.at(-1)).toBeNull();
});
