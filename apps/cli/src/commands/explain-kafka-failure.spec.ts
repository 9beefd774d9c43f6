import { expect, it } from '@jest/globals';
import { noLeaderError } from '#libs/kafka-log';
import { KafkaJSNumberOfRetriesExceeded, KafkaJSProtocolError } from 'kafkajs';
import { explainKafkaFailure } from './explain-kafka-failure.js';

const TOPIC = 'gapless.log.v1';

function explained(error: unknown): unknown {
  return explainKafkaFailure(error, ['one:9092', 'two:9092'], TOPIC);
}

it('says which partition has no leader, and not that Kafka does not answer', () => {
  const { message } = explained(noLeaderError(TOPIC, 3)) as Error;
  expect(message).toMatch(/gapless\.log\.v1\/3 has no leader.*try again/);
  expect(message).not.toContain('start Gapless first');
  const retried = new KafkaJSNumberOfRetriesExceeded(noLeaderError(TOPIC, 3), { retryCount: 5, retryTime: 100 });
  expect(explained(retried)).toMatchObject({ message });
});

it('names a topic that is not there, also after the last retry', () => {
  const unknown = new KafkaJSProtocolError(
    Object.assign(new Error('no'), { type: 'UNKNOWN_TOPIC_OR_PARTITION', code: 3 }),
  );
  const message = `there is no topic ${TOPIC} at one:9092,two:9092; check TOPIC_PREFIX`;
  expect(explained(unknown)).toMatchObject({ message });
  const retried = new KafkaJSNumberOfRetriesExceeded(unknown, { retryCount: 5, retryTime: 100 });
  expect(explained(retried)).toMatchObject({ message });
});

it('says what to do if Kafka is away, and leaves other errors as they are', () => {
  const away = Object.assign(new Error('connect ECONNREFUSED'), { name: 'KafkaJSConnectionError' });
  expect(explained(away)).toMatchObject({ message: expect.stringContaining('start Gapless first (npm start)') });
  const other = new Error('other');
  expect(explained(other)).toBe(other);
});
