import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ReceiverError } from './receiver-error.js';

/** Of `DATA_DIR/credentials.json` (decisions, section 9): where Gapless is, and as whom to speak to it. */
export interface Credentials {
  readonly base_url: string;
  readonly api_key: string;
}

/** @throws ReceiverError when no Gapless has written them */
export async function readCredentials(dataDir: string | undefined): Promise<Credentials> {
  const path = resolve(join(dataDir?.trim() || '.data', 'credentials.json'));
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    throw new ReceiverError(
      code === 'ENOENT'
        ? `${path} is not there: start Gapless first (npm start), or set DATA_DIR to where it keeps its data`
        : `${path} cannot be read: ${code}`,
    );
  });
  try {
    const { base_url, api_key } = JSON.parse(text) as Partial<Record<keyof Credentials, unknown>>;
    if (typeof base_url === 'string' && typeof api_key === 'string') return { base_url, api_key };
  } catch {
    // Told below, like members that are missing.
  }
  throw new ReceiverError(`${path} is not what npm start writes`);
}
