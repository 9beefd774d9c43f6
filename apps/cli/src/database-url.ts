import type { Environment } from '#libs/runtime';
import { findAddress } from './installation-address.js';

/** Where the database is. @throws CliError if nothing is set */
export async function findDatabaseUrl(environment: Environment): Promise<string> {
  return findAddress(environment, { name: 'database', variable: 'DATABASE_URL', member: 'database_url' });
}
