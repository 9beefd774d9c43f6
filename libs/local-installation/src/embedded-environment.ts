import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { textKeptIn, type Environment } from '#libs/runtime';

/**
 * Partitions of each topic on the embedded broker: enough to spread work, few enough that 17 topics take little memory
 * and start quickly.
 */
const EMBEDDED_PARTITIONS = 4;

/** Returns the key that encrypts secrets. It is made once and stored in the data directory. */
async function encryptionKeys(dataDir: string): Promise<string> {
  await mkdir(dataDir, { recursive: true });
  return textKeptIn(join(dataDir, 'secret-encryption-keys'), () => `embedded:${randomBytes(32).toString('base64')}\n`);
}

/**
 * Adds the defaults for local development. A variable that is set takes precedence, even if it is empty.
 * @param environment the settings that the user has set. If they name brokers, the number of partitions is the usual one
 */
export async function embeddedEnvironment(environment: Environment, dataDir: string): Promise<Environment> {
  const embedsKafka = (environment['KAFKA_BROKERS'] ?? '').trim() === '';
  return {
    ALLOW_HTTP_URLS: 'true',
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8,::1/128',
    ...(embedsKafka ? { PARTITIONS: String(EMBEDDED_PARTITIONS) } : {}),
    SECRET_ENCRYPTION_KEYS: await encryptionKeys(dataDir),
    ...environment,
  };
}
