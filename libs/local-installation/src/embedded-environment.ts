import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '#libs/runtime';

/**
 * Partitions of each topic on the embedded broker: enough to spread work, few enough that 17 topics take little memory
 * and start quickly.
 */
const EMBEDDED_PARTITIONS = 4;

/**
 * Returns the key that encrypts secrets. It is made once and stored in the data directory, on the disk before anything
 * is encrypted with it.
 * @throws Error if the file is empty
 */
async function encryptionKeys(dataDir: string): Promise<string> {
  const path = join(dataDir, 'secret-encryption-keys');
  try {
    const stored = (await readFile(path, 'utf8')).trim();
    if (stored !== '') return stored;
    throw new Error(
      `${path} is empty. Put back the key of this data directory; without it, no stored secret can be read.`,
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const keys = `embedded:${randomBytes(32).toString('base64')}`;
  await mkdir(dataDir, { recursive: true });
  const draft = `${path}.new`;
  const file = await open(draft, 'w', 0o600);
  try {
    await file.writeFile(`${keys}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
  return keys;
}

/** Adds the defaults for local development. A variable that is set takes precedence, even if it is empty. */
export async function embeddedEnvironment(environment: Environment, dataDir: string): Promise<Environment> {
  return {
    ALLOW_HTTP_URLS: 'true',
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8,::1/128',
    PARTITIONS: String(EMBEDDED_PARTITIONS),
    SECRET_ENCRYPTION_KEYS: await encryptionKeys(dataDir),
    ...environment,
  };
}
