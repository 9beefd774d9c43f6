import { describe, expect, it } from '@jest/globals';
import type { Kafka, TopicPartitionOffsetAndMetadata } from 'kafkajs';
import { createLogger, HealthBoard } from '#libs/runtime';
import { BatchConsumer, type BatchContext } from './batch-consumer.js';
import { KafkaConnection } from '../connection/kafka-connection.js';

type Commit = { readonly places: readonly TopicPartitionOffsetAndMetadata[]; readonly answer: () => void };

/** A consumer of kafkajs that has partition 0 of one topic, and answers commits when the test lets it. */
class CommittingConsumer {
  readonly events = { HEARTBEAT: 'heartbeat', GROUP_JOIN: 'group_join', CRASH: 'crash', REBALANCING: 'rebalancing' };
  readonly commits: Commit[] = [];
  readonly #listeners = new Map<string, (event: unknown) => void>();
  #eachBatch: (payload: unknown) => Promise<void> = () => Promise.resolve();

  on(name: string, listener: (event: unknown) => void): void {
    this.#listeners.set(name, listener);
  }

  connect = () => Promise.resolve();
  subscribe = () => Promise.resolve();
  disconnect = () => Promise.resolve();
  pause = () => undefined;
  resume = () => undefined;

  run({ eachBatch }: { eachBatch: (payload: unknown) => Promise<void> }): Promise<void> {
    this.#eachBatch = eachBatch;
    this.#listeners.get('group_join')?.({ payload: { memberAssignment: { topic: [0] } } });
    return Promise.resolve();
  }

  commitOffsets(places: readonly TopicPartitionOffsetAndMetadata[]): Promise<void> {
    return new Promise((resolve) => {
      this.commits.push({ places, answer: resolve });
    });
  }

  crash(error: Error): void {
    this.#listeners.get('crash')?.({ payload: { error } });
  }

  handOver(offset: number): Promise<void> {
    const messages = [{ offset: String(offset), key: null, value: null, headers: {}, timestamp: '0', attributes: 0 }];
    return this.#eachBatch({
      batch: { topic: 'topic', partition: 0, messages, lastOffset: () => String(offset) },
      isStale: () => false,
      isRunning: () => true,
      resolveOffset: () => undefined,
      heartbeat: () => Promise.resolve(),
    });
  }
}

/** Resolves once everything has happened that waits for no answer. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A consumer that has its partition, and gives what its handler gets to the test. */
async function aConsumer(consumer: CommittingConsumer, health = new HealthBoard()) {
  const logger = createLogger('silent', 'test');
  const admin = {
    connect: consumer.connect,
    disconnect: consumer.disconnect,
    fetchTopicOffsets: () => Promise.resolve([]),
  };
  const kafka = { consumer: () => consumer, admin: () => admin } as unknown as Kafka;
  const contexts: BatchContext[] = [];
  const batches = new BatchConsumer(
    new KafkaConnection({ brokers: [], clientId: 'test', logger, kafka }),
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
      positions: () => Promise.resolve(new Map()),
    },
    logger,
    health,
  );
  await batches.start();
  return { batches, contexts };
}

describe('an offset that moves while an earlier commit is on its way', () => {
  it('is committed after it, so that a commit that is late moves nothing back', async () => {
    const consumer = new CommittingConsumer();
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

describe('a consumer that the brokers refuse', () => {
  it('says in health why it waits', async () => {
    const [consumer, health] = [new CommittingConsumer(), new HealthBoard()];
    const { batches } = await aConsumer(consumer, health);
    expect(health.parts()['test-group']).toEqual({ status: 'ready' });
    consumer.crash(new Error('Not authorized to access group'));
    expect(health.parts()['test-group']).toEqual({
      status: 'waiting',
      reason: 'joining its consumer group: Not authorized to access group',
    });
    await batches.stop();
  });
});
