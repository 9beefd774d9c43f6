import { kafkaAccess, KafkaConnection } from '#libs/kafka-log';
import { createLogger, loadConfig, type Environment } from '#libs/runtime';
import { findKafkaBrokers } from './kafka-brokers.js';
import { NO_KEYS } from './no-keys.js';

/** The brokers that the environment names, otherwise those that `npm start` runs here. */
export interface FoundKafka {
  readonly brokers: readonly string[];
  readonly connection: KafkaConnection;
}

/**
 * Finds Kafka for commands that need nothing else.
 * @throws CliError when no brokers are configured, ConfigError when a setting is invalid
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
