import { kafkaAccess, KafkaConnection } from '#libs/kafka-log';
import { createLogger, loadConfig, type Environment } from '#libs/runtime';
import { findKafkaBrokers } from './kafka-brokers.js';
import { NO_KEYS } from './no-keys.js';

/** The brokers that the environment names, or else those that `npm start` runs here. */
export interface FoundKafka {
  readonly brokers: readonly string[];
  readonly connection: KafkaConnection;
}

/**
 * Finds Kafka for commands that need nothing else.
 * @throws CliError when nothing says where the brokers are, ConfigError when a setting is not valid
 */
export async function findKafka(environment: Environment): Promise<FoundKafka> {
  const brokers = await findKafkaBrokers(environment);
  const config = loadConfig({
    SECRET_ENCRYPTION_KEYS: NO_KEYS,
    ...environment,
    DATABASE_URL: 'postgres://none',
    KAFKA_BROKERS: brokers.join(','),
  });
  const logger = createLogger('silent', 'cli');
  return {
    brokers,
    connection: new KafkaConnection({ brokers, clientId: 'gapless-cli', access: kafkaAccess(config), logger }),
  };
}
