import kafkajs from 'kafkajs';

/** Codes of the protocol, and kafkajs' messages for them. */
const PROTOCOL_ERRORS = [
  { type: 'NOT_LEADER_FOR_PARTITION', code: 6, message: 'This server is not the leader for that topic-partition' },
  { type: 'LEADER_NOT_AVAILABLE', code: 5, message: 'There is no leader for this topic-partition' },
  { type: 'UNKNOWN_TOPIC_OR_PARTITION', code: 3, message: 'This server does not host this topic-partition' },
  { type: 'REQUEST_TIMED_OUT', code: 7, message: 'The request timed out' },
  { type: 'GROUP_COORDINATOR_NOT_AVAILABLE', code: 15, message: 'The group coordinator is not available' },
  { type: 'NOT_CONTROLLER', code: 41, message: 'This is not the correct controller for this cluster' },
  { type: 'INVALID_REPLICATION_FACTOR', code: 38, message: 'Replication factor is larger than available brokers' },
] as const;

function protocolError(o: { type: string; code: number; message: string }, retriable = true): Error {
  return new kafkajs.KafkaJSProtocolError({ name: 'KafkaJSProtocolError', ...o, retriable } as never);
}

/** Makes an error of a class that kafkajs does not export. */
function named(name: string, message: string, members: object = {}): Error {
  return Object.assign(new kafkajs.KafkaJSError(message), { name, ...members });
}

function afterRetries(error: Error): Error {
  return new kafkajs.KafkaJSNumberOfRetriesExceeded(error, { retryCount: 3, retryTime: 800 });
}

/** Errors that kafkajs throws while brokers start or are very busy. All pass. */
export const PASSING_KAFKA_ERRORS: readonly Error[] = [
  ...PROTOCOL_ERRORS.map((error) => afterRetries(protocolError(error))),
  ...PROTOCOL_ERRORS.map((error) => protocolError(error)),
  named('KafkaJSConnectionClosedError', 'Closed connection'),
  named('KafkaJSConnectionError', 'connect ECONNREFUSED 127.0.0.1:9092', { code: 'ECONNREFUSED' }),
  named('KafkaJSRequestTimeoutError', 'Request CreateTopics timed out'),
  named('KafkaJSTimeout', 'Timed out while waiting for topic leaders', { retriable: false }),
  named('KafkaJSGroupCoordinatorNotFound', 'Failed to find group coordinator', { retriable: false }),
  new kafkajs.KafkaJSAggregateError('Topic creation errors', [
    protocolError({ type: 'TOPIC_ALREADY_EXISTS', code: 36, message: 'Topic already exists' }, false),
    protocolError({ type: 'REQUEST_TIMED_OUT', code: 7, message: 'The request timed out' }),
  ]),
];

/** Errors that do not pass. */
export const LASTING_KAFKA_ERRORS: readonly Error[] = [
  named('KafkaJSSASLAuthenticationError', 'SASL PLAIN authentication failed', { retriable: false }),
  protocolError({ type: 'TOPIC_AUTHORIZATION_FAILED', code: 29, message: 'Not authorized to access topics' }, false),
  protocolError({ type: 'INVALID_CONFIG', code: 40, message: 'Configuration is invalid' }, false),
  new kafkajs.KafkaJSAggregateError('Topic creation errors', [
    protocolError({ type: 'REQUEST_TIMED_OUT', code: 7, message: 'The request timed out' }),
    protocolError(
      { type: 'POLICY_VIOLATION', code: 44, message: 'Request parameters do not satisfy the policy' },
      false,
    ),
  ]),
  new TypeError('topics is not iterable'),
];
