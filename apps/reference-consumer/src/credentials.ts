import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { shellWord } from '#libs/runtime';
import { ConsumerError } from './consumer-error.js';

/** The content of `DATA_DIR/credentials.json` (contract 11): the address of Gapless, and the keys to use. */
export interface Credentials {
  readonly base_url: string;
  readonly org_id: string;
  readonly api_key: string;
}

/**
 * Reads the credentials; `undefined` when there is no such file.
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

/** Returns the path of the credentials that `npm start` writes. */
export function credentialsPath(dataDir: string | undefined): string {
  return resolve(join(dataDir?.trim() || '.data', 'credentials.json'));
}

/** Returns the command that emits an event to the Gapless of these credentials. */
export function emitCommand(dataDir: string | undefined): string {
  const setting = dataDir?.trim() ? `DATA_DIR=${shellWord(resolve(dataDir.trim()))} ` : '';
  return `${setting}npm run -s gapless -- emit`;
}
