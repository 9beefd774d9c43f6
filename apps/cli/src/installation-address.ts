import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Environment } from '#libs/runtime';
import { CliError } from './cli-error.js';

/** Where to find the address of a server. */
interface AddressSource {
  /** Its name in messages. */
  readonly name: string;
  readonly variable: string;
  /** The member of `DATA_DIR/credentials.json` (contract 11), which `npm start` writes. */
  readonly member: string;
}

/**
 * Returns the address of a server: the variable, otherwise the one that `npm start` wrote under `DATA_DIR`.
 * @throws CliError if neither is set
 */
export async function findAddress(environment: Environment, source: AddressSource): Promise<string> {
  const configured = environment[source.variable]?.trim() ?? '';
  if (configured !== '') return configured;
  const dataDir = environment['DATA_DIR']?.trim() ?? '';
  const path = resolve(join(dataDir === '' ? '.data' : dataDir, 'credentials.json'));
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    throw new CliError(
      code === 'ENOENT'
        ? `no ${source.name}: ${source.variable} is not set, and ${path} does not exist (npm start writes it)`
        : `cannot read ${path}: ${code ?? String(error)}`,
    );
  });
  const address = memberOf(text, source.member);
  if (address === undefined) throw new CliError(`${path} names no ${source.member}`);
  return address;
}

function memberOf(text: string, member: string): string | undefined {
  try {
    const value = (JSON.parse(text) as Readonly<Record<string, unknown>> | null)?.[member];
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
