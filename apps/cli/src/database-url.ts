import type { Environment } from '#libs/runtime';
import { findAddress } from './installation-address.js';

/** Returns the url of the database. @throws CliError if none is set */
export async function findDatabaseUrl(environment: Environment): Promise<string> {
  return findAddress(environment, { name: 'database', variable: 'DATABASE_URL', member: 'database_url' });
}
