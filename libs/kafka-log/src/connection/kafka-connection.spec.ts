import { describe, expect, it } from '@jest/globals';
import type { Kafka } from 'kafkajs';
import { createLogger } from '#libs/runtime';
import { KafkaConnection } from './kafka-connection.js';
import { LASTING_KAFKA_ERRORS, PASSING_KAFKA_ERRORS } from '../testing/passing-kafka-errors.js';

type Step = 'connect' | 'describeCluster';

/** A connection whose first requests of one kind fail. */
function connectionThatFails(failing: Step, error: Error, times: number): KafkaConnection {
  let left = times;
  const answer = (step: Step) => () => (step === failing && left-- > 0 ? Promise.reject(error) : Promise.resolve({}));
  const admin = {
    connect: answer('connect'),
    describeCluster: answer('describeCluster'),
    disconnect: () => Promise.resolve(),
  };
  const kafka = { admin: () => admin } as unknown as Kafka;
  return new KafkaConnection({ brokers: [], clientId: 'test', logger: createLogger('silent', 'test'), kafka });
}

describe.each(['connect', 'describeCluster'] as const)('a start that fails to %s', (step) => {
  it('waits out whatever passes, and says why it waits', async () => {
    await Promise.all(
      PASSING_KAFKA_ERRORS.map(async (error) => {
        const reasons: string[] = [];
        await connectionThatFails(step, error, 2).waitUntilReachable((reason) => reasons.push(reason));
        expect(reasons).toEqual([error.message, error.message]);
      }),
    );
  });

  it('ends at once with what does not pass', async () => {
    for (const error of LASTING_KAFKA_ERRORS) {
      await expect(connectionThatFails(step, error, 1).waitUntilReachable(() => undefined)).rejects.toBe(error);
    }
  });
});
