import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '#libs/embedded-stack';
import { Store } from '#libs/postgres';
import { createLogger } from '#libs/runtime';
import { anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { ROOT } from '../support/root.js';

// The accounts of docs/containers.md. Roles belong to the server, so this has a server of its own.

const PASSWORD = 'secret';

let dataDir: string;
let postgres: EmbeddedPostgres;
const stores: Store[] = [];

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'gapless-first-'));
  postgres = await startEmbeddedPostgres({ dataDir, port: 0, durable: false, log: () => undefined });
});

afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await postgres.stop();
  rmSync(dataDir, { recursive: true });
});

/** The statements of the page. The embedded server has a role and a database `gapless` already. */
function statements(): readonly string[] {
  const page = readFileSync(join(ROOT, 'docs/containers.md'), 'utf8');
  const [, sql = ''] = /```sql\n([^]*?)```/.exec(page) ?? [];
  return sql
    .replaceAll(/--.*/g, '')
    .replaceAll(/\bgapless\b/g, 'gapless_owner')
    .replaceAll('…', PASSWORD)
    .split(';')
    .filter((statement) => statement.trim() !== '');
}

function storeOf(user: string): Store {
  const url = new URL(postgres.url);
  [url.username, url.password, url.pathname] = [user, PASSWORD, '/gapless_owner'];
  const store = new Store({
    databaseUrl: url.href,
    applicationName: 'test',
    logger: createLogger('silent', 'test'),
    migratesWhenOpened: false,
    servesRequests: true,
  });
  stores.push(store);
  return store;
}

it('the account of the stages exists before the first migration, and gets its rights from it', async () => {
  const admin = new Client({ connectionString: postgres.url });
  await admin.connect();
  expect(statements()).toHaveLength(4);
  for (const statement of statements()) await admin.query(statement);
  await admin.end();

  const stage = storeOf('gapless_app');
  const waits: string[] = [];
  const opened = stage.open((reason) => waits.push(reason));
  await eventually(() => {
    expect(waits.join()).toContain('run gapless migrate');
  });
  await storeOf('gapless_owner').migrate();
  await opened;
  expect(await stage.query('select 1 from endpoints')).toEqual([]);
  await expect(stage.forOrg(anOrgId(), (runner) => runner.query('select 1 from endpoints'))).resolves.toEqual([]);
});
