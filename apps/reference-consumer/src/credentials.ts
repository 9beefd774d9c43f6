import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ConsumerError } from './consumer-error.js';

/** Of `DATA_DIR/credentials.json` (contract 11): where Gapless is, and as whom to speak to it. */
export interface Credentials {
  readonly base_url: string;
  readonly org_id: string;
  readonly api_key: string;
}

/**
 * `undefined` when no Gapless has written them.
 * @throws ConsumerError when they cannot be read
 */
export async function readCredentials(path: string): Promise<Credentials | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new ConsumerError(`${path} cannot be read: ${code}`);
  }
  try {
    const { base_url, org_id, api_key } = JSON.parse(text) as Partial<Record<keyof Credentials, unknown>>;
    if ([base_url, org_id, api_key].every((member) => typeof member === 'string')) {
      return { base_url, org_id, api_key } as Credentials;
    }
  } catch {
    // Reported below, like missing members.
  }
  throw new ConsumerError(`${path} is not a credentials file of npm start`);
}

/** Where `npm start` writes them. */
export function credentialsPath(dataDir: string | undefined): string {
  return resolve(join(dataDir?.trim() || '.data', 'credentials.json'));
}
