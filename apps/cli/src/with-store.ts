import { isPostgresAway, Store } from '#libs/feed-store';
import { createLogger, type Environment } from '#libs/runtime';
import { CliError } from './cli-error.js';
import { findDatabaseUrl } from './database-url.js';

/** Runs `act` with an open store, and closes it. @throws CliError when the database cannot be reached */
export async function withStore<T>(
  environment: Environment,
  act: (store: Store) => Promise<T>,
  options: { readonly queryTimeoutMs?: number } = {},
): Promise<T> {
  const databaseUrl = await findDatabaseUrl(environment);
  const logger = createLogger('silent', 'cli');
  const store = new Store({ databaseUrl, applicationName: 'gapless-cli', logger, ...options });
  const noDatabase = new AbortController();
  try {
    await store.open((reason) => {
      // A server waits for its database; a person wants to know.
      noDatabase.abort(new CliError(`the database cannot be reached: ${reason}`));
    }, noDatabase.signal);
    return await act(store);
  } catch (error) {
    if (noDatabase.signal.aborted) throw noDatabase.signal.reason;
    if (isPostgresAway(error)) throw new CliError(`the database cannot be reached: ${String(error)}`);
    throw error;
  } finally {
    await store.close();
  }
}
