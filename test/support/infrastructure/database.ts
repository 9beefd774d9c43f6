import { randomBytes } from 'node:crypto';
import { Client, escapeIdentifier } from 'pg';

export interface TestDatabase {
  readonly url: string;
  /** Removes the database; connections that are still open are ended by the server. */
  drop(): Promise<void>;
}

/**
 * A database of its own for a suite, cloned from a template that is migrated once per run of the tests.
 * @param migrate brings the empty database at the url to the current schema, and leaves no connection open.
 * @param schema names what `migrate` makes, if it is not the schema of all.
 * @param server counts on through the servers of this run: 0 is the first one, and the one after the last is the first.
 */
export async function createTestDatabase(
  migrate: (url: string) => Promise<void>,
  schema = 'main',
  server = 0,
): Promise<TestDatabase> {
  const adminUrl = adminUrlOf(server);
  const template = `${prefix()}template_${schema}`;
  const name = `${prefix()}${randomBytes(8).toString('hex')}`;
  await asAdmin(adminUrl, async (admin) => {
    // Jest runs suites in processes of their own: the first one builds the template, the others wait for it.
    await admin.query('SELECT pg_advisory_lock(hashtext($1))', [template]);
    const { rowCount } = await admin.query('SELECT FROM pg_database WHERE datname = $1', [template]);
    if (rowCount === 0) {
      // Under another name until it is migrated: a migration that fails leaves no half-made template behind.
      const draft = `${template}_draft`;
      await admin.query(`DROP DATABASE IF EXISTS ${escapeIdentifier(draft)} WITH (FORCE)`);
      await admin.query(`CREATE DATABASE ${escapeIdentifier(draft)}`);
      await migrate(urlOf(adminUrl, draft));
      await admin.query(`ALTER DATABASE ${escapeIdentifier(draft)} RENAME TO ${escapeIdentifier(template)}`);
    }
    // Within the lock as well: Postgres refuses to copy a template that another session is just copying from.
    await admin.query(`CREATE DATABASE ${escapeIdentifier(name)} TEMPLATE ${escapeIdentifier(template)}`);
  });
  return {
    url: urlOf(adminUrl, name),
    drop: () =>
      asAdmin(adminUrl, async (admin) => {
        await admin.query(`DROP DATABASE IF EXISTS ${escapeIdentifier(name)} WITH (FORCE)`);
      }),
  };
}

/** Of this run's databases; the global teardown removes what has it from a server that outlives the run. */
function prefix(): string {
  return `gapless_test_${process.env['TEST_RUN_ID'] ?? ''}_`;
}

/** Of an account that may create databases. @param server as of `createTestDatabase` */
export function adminUrlOf(server = 0): string {
  const urls = process.env['TEST_DATABASE_URLS']?.split(',') ?? [];
  const url = urls[server % urls.length];
  if (url === undefined) throw new Error('TEST_DATABASE_URLS is not set: this suite needs the jest global set-up');
  return url;
}

function urlOf(adminUrl: string, database: string): string {
  const url = new URL(adminUrl);
  url.pathname = `/${database}`;
  return url.href;
}

async function asAdmin(url: string, act: (admin: Client) => Promise<void>): Promise<void> {
  const admin = new Client({ connectionString: url });
  await admin.connect();
  try {
    await act(admin);
  } finally {
    // Ends the advisory lock as well.
    await admin.end();
  }
}
