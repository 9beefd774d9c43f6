import { expect, it } from '@jest/globals';
import { noLeaderError } from '#libs/kafka-log';
import { KafkaJSError, KafkaJSNumberOfRetriesExceeded, KafkaJSProtocolError } from 'kafkajs';
import { explainKafkaFailure } from './explain-kafka-failure.js';

const TOPIC = 'gapless.log.v1';

function explained(error: unknown): unknown {
  return explainKafkaFailure(error, ['one:9092', 'two:9092'], TOPIC);
}

/** Makes an error of a class whose constructor has no message in its types. */
function named(name: string, message: string): Error {
  return Object.assign(new KafkaJSError(message, { retriable: false }), { name });
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

it.each([
  ['login', named('KafkaJSSASLAuthenticationError', 'SASL PLAIN authentication failed')],
  [
    'permission',
    new KafkaJSProtocolError(
      Object.assign(new Error('Not authorized to access group'), { type: 'GROUP_AUTHORIZATION_FAILED', code: 30 }),
    ),
  ],
])('says that Kafka refuses the %s, also after the last retry', (_, refusal) => {
  const message = `Kafka at one:9092,two:9092 refuses this: ${refusal.message}; check KAFKA_USERNAME, KAFKA_PASSWORD and the permissions`;
  expect(explained(refusal)).toMatchObject({ message });
  const retried = new KafkaJSNumberOfRetriesExceeded(refusal, { retryCount: 5, retryTime: 100 });
  expect(explained(retried)).toMatchObject({ message });
});

it('names the permissions if no broker lets the account join a group', () => {
  const refusal = named('KafkaJSGroupCoordinatorNotFound', 'Failed to find group coordinator');
  const message = expect.stringMatching(/^no broker at one:9092,two:9092 lets .* check its permissions/);
  expect(explained(refusal)).toMatchObject({ message });
  const retried = new KafkaJSNumberOfRetriesExceeded(refusal, { retryCount: 5, retryTime: 100 });
  expect(explained(retried)).toMatchObject({ message });
});

it('says what to do if Kafka is away, and leaves other errors as they are', () => {
  const away = Object.assign(new Error('connect ECONNREFUSED'), { name: 'KafkaJSConnectionError' });
  expect(explained(away)).toMatchObject({ message: expect.stringContaining('start Gapless first (npm start)') });
  const other = new Error('other');
  expect(explained(other)).toBe(other);
});
