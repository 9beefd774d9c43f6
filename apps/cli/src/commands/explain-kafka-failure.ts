import { CliError } from '../cli-error.js';

/** The members of kafkajs' errors. After the last retry, `cause` is the last failure. */
interface KafkaFailure {
  readonly name?: string;
  readonly message?: string;
  readonly type?: string;
  readonly cause?: KafkaFailure;
}

/** Turns an error of Kafka into one that a person understands; returns any other error unchanged. */
export function explainKafkaFailure(error: unknown, brokers: readonly string[], topic: string): unknown {
  const { name = '', message = '', type, cause } = error as KafkaFailure;
  if (!name.startsWith('KafkaJS')) return error;
  const place = brokers.join(',');
  const reason = type ?? cause?.type;
  if (reason === 'LEADER_NOT_AVAILABLE') return new CliError(`${message}; try again when its broker is back`);
  return new CliError(
    reason === 'UNKNOWN_TOPIC_OR_PARTITION'
      ? `there is no topic ${topic} at ${place}; check TOPIC_PREFIX`
      : `Kafka does not answer at ${place} (${message}): start Gapless first (npm start), or set KAFKA_BROKERS`,
  );
}
