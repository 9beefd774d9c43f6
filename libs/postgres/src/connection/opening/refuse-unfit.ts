import type { DataSource } from 'typeorm';
import { OperatorError } from '#libs/domain';

/** The encodings that hold every character of events. SQL_ASCII takes the bytes as they are. */
const ENCODINGS: ReadonlySet<string> = new Set(['UTF8', 'SQL_ASCII']);

const OLDEST_VERSION = 16;

/** The way out if `sharesConnections` is true. */
export const USE_SESSION_MODE =
  'Set its pool mode for Gapless to session (pool_mode = session in PgBouncer), or connect to Postgres directly';

/** A database that Gapless cannot work with. */
class UnfitDatabaseError extends OperatorError {
  override readonly name = 'UnfitDatabaseError';
}

interface ServerTraits {
  readonly encoding: string;
  /** The major version. */
  readonly version: number;
}

/** @returns why Gapless cannot work with the database; `null` if it can */
export function unfitTrait(database: string, { encoding, version }: ServerTraits): string | null {
  if (version < OLDEST_VERSION) {
    return `The database ${database} is on Postgres ${version}. Use Postgres ${OLDEST_VERSION} or later.`;
  }
  if (ENCODINGS.has(encoding)) return null;
  // Events could be written, and not be read.
  return (
    `The database ${database} has the encoding ${encoding}, which lacks characters that events may have. ` +
    `Use a database that was created with "encoding 'UTF8' template template0".`
  );
}

/** @throws UnfitDatabaseError if Gapless cannot work with the database, or with the pooler before it */
export async function refuseUnfit(dataSource: DataSource, database: string): Promise<void> {
  const [traits] = await dataSource.query<[ServerTraits]>(
    `select current_setting('server_encoding') as encoding, current_setting('server_version_num')::int / 10000 as version`,
  );
  const reason = unfitTrait(database, traits);
  if (reason !== null) throw new UnfitDatabaseError(reason);
  if (await sharesConnections(dataSource)) {
    throw new UnfitDatabaseError(
      `A pooler before the database ${database} shares connections between statements, so locks would not hold. ` +
        `${USE_SESSION_MODE}.`,
    );
  }
}

/**
 * Whether a pooler gives each statement whichever connection is free. Settings and prepared statements get lost there. A
 * lock that was taken on such a connection would stay in the pooler, and stop every later migration.
 */
export async function sharesConnections(dataSource: DataSource): Promise<boolean> {
  const runners = [dataSource.createQueryRunner(), dataSource.createQueryRunner()];
  try {
    await Promise.all(runners.map((runner) => runner.connect()));
    const pids: number[] = [];
    // By turns, because other clients of the pooler may use its connections in between.
    for (const runner of [...runners, ...runners]) {
      const [{ pid }] = (await runner.query('select pg_backend_pid() as pid')) as [{ pid: number }];
      pids.push(pid);
    }
    return pids[0] === pids[1] || pids[0] !== pids[2] || pids[1] !== pids[3];
  } finally {
    await Promise.all(runners.map((runner) => runner.release()));
  }
}
