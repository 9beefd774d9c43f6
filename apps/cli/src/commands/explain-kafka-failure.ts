import { isPassingKafkaError } from '#libs/kafka-log';
import { CliError } from '../cli-error.js';

/** The members of kafkajs' errors. After the last retry, `cause` is the last failure. */
interface KafkaFailure {
  readonly name?: string;
  readonly message?: string;
  readonly type?: string;
  readonly cause?: KafkaFailure;
}

const NO_COORDINATOR = 'KafkaJSGroupCoordinatorNotFound';

/** Turns an error of Kafka into one that a person understands; returns any other error unchanged. */
export function explainKafkaFailure(error: unknown, brokers: readonly string[], topic: string): unknown {
  const { name = '', message = '', type, cause } = error as KafkaFailure;
  if (!name.startsWith('KafkaJS')) return error;
  const place = brokers.join(',');
  const reason = type ?? cause?.type;
  if (reason === 'LEADER_NOT_AVAILABLE') return new CliError(`${message}; try again when its broker is back`);
  if (reason === 'UNKNOWN_TOPIC_OR_PARTITION') {
    return new CliError(`there is no topic ${topic} at ${place}; check TOPIC_PREFIX`);
  }
  if (!isPassingKafkaError(error)) {
    return new CliError(
      `Kafka at ${place} refuses this: ${message}; check KAFKA_USERNAME, KAFKA_PASSWORD and the permissions`,
    );
  }
  // Also what kafkajs says if the account may not join the group: it drops the brokers' reason.
  if (name === NO_COORDINATOR || cause?.name === NO_COORDINATOR) {
    return new CliError(
      `no broker at ${place} lets this account read in a group; check its permissions, or try again if Kafka has just started`,
    );
  }
  return new CliError(
    `Kafka does not answer at ${place} (${message}): start Gapless first (npm start), or set KAFKA_BROKERS`,
  );
}
