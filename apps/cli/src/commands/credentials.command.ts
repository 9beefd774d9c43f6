import { join, resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import type { Store } from '#libs/postgres';
import { writeCredentials } from '#libs/local-installation';
import { readSetting, SETTINGS, type Environment } from '#libs/runtime';
import { CliError } from '../cli-error.js';
import { findDatabaseUrl } from '../database-url.js';
import { findKafkaBrokers } from '../kafka-brokers.js';

/** The environment of the command. */
export interface CredentialsContext {
  readonly environment: Environment;
  readonly withStore: <T>(act: (store: Store) => Promise<T>) => Promise<T>;
  /** Writes a line to standard output. */
  readonly print: (line: string) => void;
}

/** `credentials`: creates a demo organization with keys, as `npm start` does, to try an installation. */
export function credentialsCommand(context: CredentialsContext): Command {
  return new Command('credentials')
    .description('create a demo organization with keys in DATA_DIR/credentials.json; existing valid keys stay')
    .requiredOption('--base-url <url>', 'the URL of the api to write into the file', readBaseUrl)
    .action(async ({ baseUrl }: { readonly baseUrl: string }) => {
      const dataDir = readSetting(SETTINGS.dataDir, context.environment);
      if (dataDir.kind === 'problem') throw new CliError(dataDir.problem);
      const directory = resolve(dataDir.value);
      const reachable = {
        base_url: baseUrl,
        kafka_brokers: (await findKafkaBrokers(context.environment)).join(','),
        database_url: await findDatabaseUrl(context.environment),
      };
      await context.withStore((store) => writeCredentials(directory, store, reachable));
      context.print(join(directory, 'credentials.json'));
    });
}

/** Returns the url without a slash at its end, because paths are appended to it. */
function readBaseUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:/.test(text))
    throw new InvalidArgumentError('expected an http:// or https:// url');
  return text.replace(/\/+$/, '');
}
