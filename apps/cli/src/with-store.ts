import { OperatorError, type OrgId } from '#libs/domain';
import { isPostgresAway, isQueryTimeout, isTableMissing, Store } from '#libs/postgres';
import { createLogger, readSetting, SETTINGS, type Environment, type Setting } from '#libs/runtime';
import { CliError } from './cli-error.js';
import { findDatabaseUrl } from './database-url.js';

interface QueryOptions {
  /** The timeout of queries in milliseconds, for commands that read everything. */
  readonly queryTimeoutMs?: number;
  /** The partition of the log that an org is in. Needed if the command reads the feed. */
  readonly partitionOf?: (orgId: OrgId) => number;
  /**
   * Whether opening may migrate the schema, as MIGRATE_AT_START says. Only for commands that fill new databases. The
   * others leave the schema as it is (default), since the processes may have an earlier version.
   */
  readonly migrates?: boolean;
}

/** Runs `act` with an open store, and closes it. @throws CliError when the database cannot be reached */
export async function withStore<T>(
  environment: Environment,
  act: (store: Store) => Promise<T>,
  options: QueryOptions = {},
): Promise<T> {
  const withOpenStore = async (store: Store): Promise<T> => {
    const noDatabase = new AbortController();
    try {
      await store.open((reason) => {
        // A service waits for its database, but a command reports the problem.
        noDatabase.abort(new CliError(`the database cannot be used: ${reason}`));
      }, noDatabase.signal);
    } catch (error) {
      throw noDatabase.signal.aborted ? noDatabase.signal.reason : error;
    }
    return act(store);
  };
  return withUnopenedStore(environment, withOpenStore, options);
}

function unknownPartitions(): never {
  throw new Error('the command does not know where the feeds of organizations are');
}

function valueOf<Value>(setting: Setting<Value>, environment: Environment): Value {
  const reading = readSetting(setting, environment);
  if (reading.kind === 'problem') throw new CliError(reading.problem);
  return reading.value;
}

/** Like `withStore`, but with a store that is not open. */
export async function withUnopenedStore<T>(
  environment: Environment,
  act: (store: Store) => Promise<T>,
  { partitionOf = unknownPartitions, migrates = false, ...options }: QueryOptions = {},
): Promise<T> {
  const store = new Store({
    databaseUrl: await findDatabaseUrl(environment),
    tenantDatabaseUrl: valueOf(SETTINGS.tenantDatabaseUrl, environment),
    applicationName: 'gapless-cli',
    logger: createLogger('silent', 'cli'),
    migratesWhenOpened: valueOf(SETTINGS.migrateAtStart, environment) && migrates,
    feed: { databaseUrls: valueOf(SETTINGS.projectionDatabaseUrls, environment), partitionOf },
    ...options,
  });
  try {
    return await act(store);
  } catch (error) {
    throw explainedFailure(error, options.queryTimeoutMs);
  } finally {
    await store.close();
  }
}

/** Returns the failure as an error that says what is wrong with the database; returns any other error unchanged. */
export function explainedFailure(error: unknown, queryTimeoutMs: number | undefined): unknown {
  if (error instanceof OperatorError) return error;
  if (isTableMissing(error)) return new CliError(`${String(error)}: see "A table is gone" in docs/operate.md`);
  if (!isPostgresAway(error)) return error;
  if (!isQueryTimeout(error)) return new CliError(`the database cannot be reached: ${String(error)}`);
  const limit = queryTimeoutMs === undefined ? 'its limit' : `its limit of ${queryTimeoutMs / 1_000} s`;
  return new CliError(`a statement took longer than ${limit}: the database is busy, or it stands still`);
}
