import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { loadConfig, type Environment } from '#libs/runtime';
import { CliError } from '../cli-error.js';
import { findDatabaseUrl } from '../database-url.js';

/**
 * Returns the keys of the environment, otherwise those of the embedded servers. They are checked as in every process.
 */
export async function encryptionKeys(environment: Environment): Promise<string> {
  const given = environment['SECRET_ENCRYPTION_KEYS']?.trim() || (await embeddedKeys(environment));
  const { secretEncryptionKeys } = loadConfig({
    // The command does not use Kafka.
    KAFKA_BROKERS: 'none:0',
    ...environment,
    DATABASE_URL: await findDatabaseUrl(environment),
    SECRET_ENCRYPTION_KEYS: given,
  });
  return secretEncryptionKeys;
}

async function embeddedKeys(environment: Environment): Promise<string> {
  const path = resolve(join(environment['DATA_DIR']?.trim() || '.data', 'secret-encryption-keys'));
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    throw new CliError(
      code === 'ENOENT'
        ? `no keys: SECRET_ENCRYPTION_KEYS is not set, and ${path} does not exist (npm start writes it)`
        : `cannot read ${path}: ${code ?? String(error)}`,
    );
  });
  return text.trim();
}
