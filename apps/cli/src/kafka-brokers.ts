import type { Environment } from '#libs/runtime';
import { findAddress } from './installation-address.js';

/** Returns the brokers, each as `host:port`. @throws CliError if nothing is set */
export async function findKafkaBrokers(environment: Environment): Promise<readonly string[]> {
  const text = await findAddress(environment, { name: 'Kafka', variable: 'KAFKA_BROKERS', member: 'kafka_brokers' });
  return text.split(',').map((broker) => broker.trim());
}
