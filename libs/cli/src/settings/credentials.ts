import { rm } from 'node:fs/promises';
import { apiUrlOf } from '../../../api-client/src/index.js';
import { CliError } from '../cli-error.js';
import type { CliContext } from '../context.js';
import { credentialsFile } from './paths.js';
import { readPrivateFile, writePrivateFile } from './private-file.js';

export interface Credentials {
  readonly url: string;
  readonly apiKey: string;
}

/** The options of every command that calls Gapless. */
export interface CredentialOptions {
  readonly url?: string;
}

/**
 * Returns the address and the key: of the environment (`GAPLESS_URL`, `GAPLESS_API_KEY`), otherwise of `gapless login`. A
 * stored key is only sent to the address that it was stored for.
 * @throws CliError when one is missing
 */
export async function readCredentials(context: CliContext, options: CredentialOptions): Promise<Credentials> {
  const stored = await readStored(context);
  const given = options.url ?? nonEmpty(context.environment['GAPLESS_URL']);
  const url = given === undefined ? stored?.url : checkedUrl(given);
  if (url === undefined) throw new CliError('There is no URL of Gapless. Run `gapless login`, or set GAPLESS_URL.');
  const apiKey = nonEmpty(context.environment['GAPLESS_API_KEY']) ?? (stored?.url === url ? stored.apiKey : undefined);
  if (apiKey === undefined) {
    throw new CliError(`There is no API key for ${url}. Run \`gapless login --url ${url}\`, or set GAPLESS_API_KEY.`);
  }
  return { url, apiKey };
}

/** @returns the file */
export async function storeCredentials(context: CliContext, { url, apiKey }: Credentials): Promise<string> {
  const path = credentialsFile(context);
  await writePrivateFile(path, { url, api_key: apiKey });
  return path;
}

export async function forgetCredentials(context: CliContext): Promise<void> {
  await rm(credentialsFile(context), { force: true });
}

/**
 * Returns the URL in the form in which it is stored and compared.
 * @throws CliError when it is no http or https URL
 */
export function checkedUrl(url: string): string {
  try {
    return apiUrlOf(url).replace(/\/api\/v1$/, '');
  } catch {
    throw new CliError(`${url} is not an http or https URL. Write it as in https://gapless.example.`, 2);
  }
}

async function readStored(context: CliContext): Promise<Credentials | undefined> {
  const stored = await readPrivateFile(credentialsFile(context));
  const { url, api_key: apiKey } = stored ?? {};
  return typeof url === 'string' && typeof apiKey === 'string' ? { url, apiKey } : undefined;
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
