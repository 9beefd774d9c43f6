import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { aDatabaseLogin, type DatabaseLogin } from '../../../../test/support/database-login.js';
import { anOrgId } from '../../../../test/support/ids.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/infrastructure/database.js';
import { aStore, migrateTestDatabase } from '../../../../test/support/store.js';
import { anEndpoint } from '../testing/an-endpoint.js';

let database: TestDatabase;
let logins: readonly DatabaseLogin[];
let writer: Client;
let reader: Client;

beforeAll(async () => {
  database = await createTestDatabase(migrateTestDatabase);
  const store = aStore(database.url);
  await store.open(() => undefined);
  await anEndpoint(store, anOrgId());
  await anEndpoint(store, anOrgId());
  await store.close();
  logins = await Promise.all(['gapless_writer', 'gapless_reader'].map((role) => aDatabaseLogin(database.url, role)));
  [writer, reader] = logins.map(({ url }) => new Client({ connectionString: url })) as [Client, Client];
  await Promise.all([writer.connect(), reader.connect()]);
});

afterAll(async () => {
  await Promise.all([writer.end(), reader.end()]);
  await Promise.all(logins.map((login) => login.drop()));
  await database.drop();
});

/** The tables with row-level security. */
async function walledTables(): Promise<readonly string[]> {
  const { rows } = await reader.query<{ name: string }>(
    `select relname as name from pg_class
     where relrowsecurity and relnamespace = 'public'::regnamespace order by 1`,
  );
  return rows.map(({ name }) => name);
}

describe('the role of the stages', () => {
  it('sees and changes the rows of all orgs, row-level security notwithstanding', async () => {
    const { rows } = await writer.query('update endpoints set name = $1 returning org_id', ['changed']);
    expect(rows).toHaveLength(2);
    const { rows: policies } = await writer.query<{ name: string }>(
      `select tablename as name from pg_policies where 'gapless_writer' = any(roles) order by 1`,
    );
    expect(policies.map(({ name }) => name)).toEqual(await walledTables());
  });

  it('becomes the tenant, which sees one org alone', async () => {
    await writer.query(`begin; set local role gapless_tenant; set local gapless.org_id = '${anOrgId()}'`);
    const { rows } = await writer.query('select 1 from endpoints');
    await writer.query('rollback');
    expect(rows).toEqual([]);
  });

  it('makes and drops the tables of days, and no others', async () => {
    await writer.query(`select gapless_make_day('events', '2026-01-01')`);
    await writer.query(
      `insert into events values ($1, 1, '2026-01-01T12:00:00Z', 'evt_1', 'ticket.created', null, '')`,
      [anOrgId()],
    );
    expect((await writer.query('select 1 from events')).rows).toHaveLength(1);
    await writer.query(`select gapless_drop_day('events', '2026-01-01')`);
    expect((await writer.query('select 1 from events')).rows).toHaveLength(0);
    for (const statement of [
      'drop table events',
      'alter table endpoints disable row level security',
      'create table mine (id int)',
      'truncate endpoints',
      `insert into migrations (timestamp, name) values (1, 'mine')`,
    ]) {
      await expect(writer.query(statement)).rejects.toThrow(/permission denied|must be owner/);
    }
  });
});

describe('the role of those who look', () => {
  it('sees the rows of all orgs, and nothing that is secret', async () => {
    expect((await reader.query('select id, url from endpoints')).rows).toHaveLength(2);
    for (const table of ['events', 'org_heads', 'deliveries', 'delivery_attempts', 'projection_offsets']) {
      await expect(reader.query(`select 1 from ${table}`)).resolves.toBeDefined();
    }
    for (const secret of [
      'select secret_ciphertext from endpoints',
      'select * from endpoints',
      'select secret_sha256 from api_keys',
      'select 1 from idempotency_keys',
    ]) {
      await expect(reader.query(secret)).rejects.toThrow(/permission denied/);
    }
  });

  it('changes nothing', async () => {
    for (const statement of [
      'update endpoints set name = null',
      'delete from events',
      `insert into org_heads values (gen_random_uuid(), 1)`,
      `select gapless_make_day('events', '2026-01-01')`,
      `select gapless_drop_day('events', '2026-01-01')`,
    ]) {
      await expect(reader.query(statement)).rejects.toThrow(/permission denied/);
    }
  });
});
