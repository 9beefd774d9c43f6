import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Environment } from '#libs/runtime';
import { CliError } from './cli-error.js';

/**
 * Where the database is: `DATABASE_URL`, else that of the embedded servers that `npm start` runs under `DATA_DIR`.
 * @throws CliError when neither tells
 */
export async function findDatabaseUrl(environment: Environment): Promise<string> {
  const configured = environment['DATABASE_URL']?.trim() ?? '';
  if (configured !== '') return configured;
  const dataDir = environment['DATA_DIR']?.trim() ?? '';
  const path = resolve(join(dataDir === '' ? '.data' : dataDir, 'credentials.json'));
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    throw new CliError(
      code === 'ENOENT'
        ? `no database: DATABASE_URL is not set, and ${path} is not there (npm start writes it)`
        : `cannot read ${path}: ${code ?? String(error)}`,
    );
  });
  const url = databaseUrlIn(text);
  if (url === undefined) throw new CliError(`${path} names no database_url`);
  return url;
}

function databaseUrlIn(text: string): string | undefined {
  try {
    const credentials = JSON.parse(text) as { database_url?: unknown } | null;
    return typeof credentials?.database_url === 'string' ? credentials.database_url : undefined;
  } catch {
    return undefined;
  }
}
