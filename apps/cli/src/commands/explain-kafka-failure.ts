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
  switch (type ?? cause?.type) {
    case 'UNKNOWN_TOPIC_OR_PARTITION':
      return new CliError(`there is no topic ${topic} at ${place}; check TOPIC_PREFIX`);
    case 'LEADER_NOT_AVAILABLE':
      return new CliError(`${message}; try again when its broker is back`);
    default:
      return new CliError(
        `Kafka does not answer at ${place} (${message}): start Gapless first (npm start), or set KAFKA_BROKERS`,
      );
  }
}
