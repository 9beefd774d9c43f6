import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import type { Position } from '#libs/domain';
import { createLogger, HealthBoard } from '#libs/runtime';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { BatchConsumer, type BatchContext } from './batch-consumer.js';
import { KafkaConnection } from '../connection/kafka-connection.js';
import { FakeConsumer } from '../testing/fake-consumer.js';

/** Resolves once everything has happened that waits for no answer. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A consumer that has its partition, and gives the contexts of its batches to the test. */
async function aConsumer(consumer: FakeConsumer, health = new HealthBoard()) {
  const { batches, contexts } = aConsumerToStart(consumer, health);
  await batches.start();
  return { batches, contexts };
}

/** Where the group continues. */
const positions = new Map<number, Position>();

function aConsumerToStart(consumer: FakeConsumer, health: HealthBoard) {
  const logger = createLogger('silent', 'test');
  const contexts: BatchContext[] = [];
  const batches = new BatchConsumer(
    new KafkaConnection({ brokers: [], clientId: 'test', logger, kafka: consumer.kafka }),
    {
      groupId: 'test-group',
      group: 'group',
      topics: ['topic'],
      commits: 'handler',
      handle: (_batch, context) => {
        contexts.push(context);
        return Promise.resolve(undefined);
      },
      onSession: () => undefined,
      positions: () => Promise.resolve(positions),
    },
    logger,
    health,
  );
  return { batches, contexts };
}

describe('an offset that moves while an earlier commit is on its way', () => {
  it('is committed after it, so that a commit that is late moves nothing back', async () => {
    const consumer = new FakeConsumer(() => true);
    const { batches, contexts } = await aConsumer(consumer);
    await consumer.handOver(0);
    const [context] = contexts;
    const early = context?.commit('topic', 0, 1);
    const late = context?.commit('topic', 0, 2);
    await settled();
    expect(consumer.commits.map(({ places }) => places[0]?.offset)).toEqual(['2']);
    consumer.commits[0]?.answer();
    await Promise.all([early, late]);
    const third = context?.commit('topic', 0, 3);
    const fourth = context?.commit('topic', 0, 4);
    await settled();
    expect(consumer.commits).toHaveLength(2);
    consumer.commits[1]?.answer();
    await Promise.all([third, fourth]);
    expect(consumer.commits.map(({ places }) => places[0]?.offset)).toEqual(['2', '4']);
    await batches.stop();
  });
});

describe('a partition whose records are still under way when their handler returns', () => {
  it('is moved nowhere because their offset is not committed yet', async () => {
    const consumer = new FakeConsumer(() => false);
    consumer.end = 100;
    positions.set(0, { next: 0, anchor: null });
    const { batches, contexts } = await aConsumer(consumer);
    try {
      await eventually(() => {
        expect(consumer.seeks).toEqual([0]);
      });
      await consumer.handOver(0, 1, 2);
      jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 60_000);
      jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 60_000);
      await delay(1_500);
      jest.restoreAllMocks();
      await consumer.handOver(3, 4);
      expect([contexts.length, consumer.seeks]).toEqual([2, [0]]);
    } finally {
      positions.clear();
      await batches.stop();
    }
  });
});

describe('a consumer that the brokers refuse', () => {
  it('says in health why it waits', async () => {
    const [consumer, health] = [new FakeConsumer(() => false), new HealthBoard()];
    const { batches } = await aConsumer(consumer, health);
    expect(health.parts()['test-group']).toEqual({ status: 'ready' });
    consumer.emit('crash', { error: new Error('Not authorized to access group') });
    expect(health.parts()['test-group']).toEqual({
      status: 'waiting',
      reason: 'joining its consumer group: Not authorized to access group',
    });
    await batches.stop();
  });
});

describe('a consumer that is stopped while it connects', () => {
  it('does not join its group, and disconnects again', async () => {
    const consumer = new FakeConsumer(() => false);
    let answer: () => void = () => undefined;
    jest.spyOn(consumer, 'subscribe').mockReturnValue(new Promise((resolve) => (answer = resolve)));
    const run = jest.spyOn(consumer, 'run');
    const { batches } = aConsumerToStart(consumer, new HealthBoard());
    void batches.start();
    await settled();
    await batches.stop();
    consumer.hasLeft = false;
    answer();
    await settled();
    expect([run.mock.calls, consumer.hasLeft]).toEqual([[], true]);
  });
});
