import { EventEmitter } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import type { Kafka } from 'kafkajs';
import { createLogger, HealthBoard } from '#libs/runtime';
import { BatchConsumer } from '../batch-consumer.js';
import { KafkaConnection } from '../../connection/kafka-connection.js';
import { PASSING_KAFKA_ERRORS } from '../../testing/passing-kafka-errors.js';

const STEPS = ['connect', 'subscribe', 'run', 'join'] as const;
type Step = (typeof STEPS)[number];

/** Consumers whose first attempts fail at one step; `join` is a crash after `run` has begun. */
function kafkaThatFails(failing: Step, error: Error, times: number): Kafka {
  let left = times;
  const consumer = () => {
    const emitter = new EventEmitter();
    const answer = (step: Step) => (step === failing && left-- > 0 ? Promise.reject(error) : Promise.resolve());
    return {
      events: { HEARTBEAT: 'heartbeat', GROUP_JOIN: 'join', CRASH: 'crash' },
      on: (event: string, listener: (fact: unknown) => void) => emitter.on(event, listener),
      connect: () => answer('connect'),
      subscribe: () => answer('subscribe'),
      run: async () => {
        await answer('run');
        answer('join').then(
          () => emitter.emit('join', { payload: { memberAssignment: { 'a-topic': [0] } } }),
          (reason: unknown) => emitter.emit('crash', { payload: { error: reason } }),
        );
      },
      pause: () => undefined,
      resume: () => undefined,
      disconnect: () => Promise.resolve(),
    };
  };
  return { consumer } as unknown as Kafka;
}

describe('joining a consumer group while the brokers are not ready', () => {
  it.each(STEPS)('is tried until it works, whatever %s fails with', async (step) => {
    await Promise.all(
      PASSING_KAFKA_ERRORS.map(async (error) => {
        const logger = createLogger('silent', 'test');
        const kafka = kafkaThatFails(step, error, 2);
        const health = new HealthBoard();
        const consumer = new BatchConsumer(
          new KafkaConnection({ brokers: [], clientId: 'test', logger, kafka }),
          {
            groupId: 'test-group',
            group: 'group',
            topics: ['a-topic'],
            commits: 'after',
            handle: () => Promise.resolve(undefined),
            onSession: () => undefined,
          },
          logger,
          health,
        );
        await consumer.start();
        expect(health.parts()['test-group']).toEqual({ status: 'ready' });
        await consumer.stop();
      }),
    );
  });
});
