/** Names in kafkajs of broker errors that a retry does not help against. */
const LASTING_TYPES =
  /^(INVALID_(?!REPLICATION_FACTOR)|UNSUPPORTED_|.*_AUTHORIZATION_FAILED$|ILLEGAL_SASL_STATE|SASL_|POLICY_VIOLATION|CORRUPT_)/;

/** Names of kafkajs' own errors for brokers or requests that it cannot work with. */
const LASTING_NAMES = new Set([
  'KafkaJSSASLAuthenticationError',
  'KafkaJSServerDoesNotSupportApiKey',
  'KafkaJSNotImplemented',
  'KafkaJSInvariantViolation',
]);

/** The deepest nesting of causes in kafkajs (retries around a connection around a socket), with room to spare. */
const DEEPEST = 6;

interface ErrorMembers {
  readonly name?: unknown;
  readonly type?: unknown;
  readonly code?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
}

/** Yields the error and all its causes. */
function* chainOf(error: unknown, depth = 0): Generator<ErrorMembers> {
  if (typeof error !== 'object' || error === null || depth > DEEPEST) return;
  const members = error as ErrorMembers;
  yield members;
  yield* chainOf(members.cause, depth + 1);
  if (Array.isArray(members.errors)) for (const each of members.errors) yield* chainOf(each, depth + 1);
}

/**
 * Whether a request to Kafka failed for a reason that passes by itself. Such reasons are a missing leader, a topic that
 * another process is creating, a starting or busy broker, and a broken connection. Errors that are not from Kafka do
 * not pass.
 */
export function isPassingKafkaError(error: unknown): boolean {
  let isOfKafka = false;
  for (const { name, type } of chainOf(error)) {
    if (typeof name === 'string' && LASTING_NAMES.has(name)) return false;
    if (typeof type === 'string' && LASTING_TYPES.test(type)) return false;
    if (typeof name === 'string' && name.startsWith('KafkaJS')) isOfKafka = true;
  }
  return isOfKafka;
}
