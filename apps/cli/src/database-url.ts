import { readSetting, SETTINGS, type Environment } from '#libs/runtime';
import { CliError } from './cli-error.js';
import { findAddress } from './installation-address.js';

/** Returns the url of the database. @throws CliError if none is set, or it is no such url */
export async function findDatabaseUrl(environment: Environment): Promise<string> {
  const url = await findAddress(environment, { name: 'database', variable: 'DATABASE_URL', member: 'database_url' });
  const reading = readSetting(SETTINGS.databaseUrl, { DATABASE_URL: url });
  if (reading.kind === 'problem') throw new CliError(reading.problem);
  return reading.value;
}
