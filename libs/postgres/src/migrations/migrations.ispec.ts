import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/infrastructure/database.js';
import { createLogger, databaseName } from '#libs/runtime';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { aStore } from '../../../../test/support/store.js';
import { Store } from '../connection/store.js';
import { MIGRATIONS } from './index.js';

let database: TestDatabase;
let store: Store;

beforeAll(async () => {
  // A database that nothing has migrated yet.
  database = await createTestDatabase(() => Promise.resolve(), 'empty');
  store = aStore(database.url);
  await store.open(() => undefined);
});

afterAll(async () => {
  await store.close();
  await database.drop();
});

/** Everything that a migration can make: columns, constraints, indexes, policies, grants, functions, triggers. */
async function schema(): Promise<readonly string[]> {
  const rows = await store.query<{ line: string }>(
    `select 'column ' || table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' ||
       coalesce(column_default, '') as line
     from information_schema.columns where table_schema = 'public' and table_name <> 'migrations'
     union all
     select 'constraint ' || conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
     from pg_constraint where connamespace = 'public'::regnamespace and conrelid <> 'migrations'::regclass
     union all
     select 'index ' || indexdef from pg_indexes where schemaname = 'public' and tablename <> 'migrations'
     union all
     select 'policy ' || tablename || ' ' || policyname || ' ' || qual from pg_policies where schemaname = 'public'
     union all
     select 'row security ' || relname from pg_class where relrowsecurity and relnamespace = 'public'::regnamespace
     union all
     select 'grant ' || table_name || ' ' || privilege_type from information_schema.role_table_grants
     where table_schema = 'public' and grantee = 'gapless_tenant'
     union all
     select 'function ' || pg_get_functiondef(oid) from pg_proc
     where pronamespace = 'public'::regnamespace and prokind = 'f'
     union all
     select 'trigger ' || pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
     order by 1`,
  );
  return rows.map(({ line }) => line);
}

describe('a store that does not migrate when it opens', () => {
  it('says that it waits until the schema is up to date, and then opens', async () => {
    const empty = await createTestDatabase(() => Promise.resolve(), 'empty');
    const waiting = new Store({
      databaseUrl: empty.url,
      applicationName: 'test',
      logger: createLogger('silent', 'test'),
      migratesWhenOpened: false,
    });
    const migrating = aStore(empty.url);
    const reasons: string[] = [];
    try {
      const opening = waiting.open((reason) => reasons.push(reason));
      await eventually(() => {
        const name = databaseName(empty.url);
        expect(reasons[0]).toMatch(`the schema of ${name} lacks Projections1700000000001, `);
        expect(reasons[0]).toMatch(/: run gapless migrate$/);
      });
      expect(await migrating.pendingMigrations()).toHaveLength(MIGRATIONS.length);
      expect(await migrating.migrate()).toHaveLength(MIGRATIONS.length);
      expect(await migrating.migrate()).toEqual([]);
      expect(await migrating.pendingMigrations()).toEqual([]);
      await opening;
      expect(waiting.isOpen).toBe(true);
    } finally {
      await waiting.close();
      await empty.drop();
    }
  });
});

describe('the migrations', () => {
  it('make what the entities say: nothing has drifted', async () => {
    // The schema builder sends several queries at once. A connection takes them only as a pipeline.
    const { options } = store.dataSource;
    const pipelined = await new DataSource({ ...options, extra: { pipeline: true } }).initialize();
    const { upQueries } = await pipelined.driver.createSchemaBuilder().log();
    await pipelined.destroy();
    const tables = store.dataSource.entityMetadatas.map(({ tableName }) => `"${tableName}"`);
    expect(tables).toHaveLength(2);
    const drift = upQueries.map(({ query }) => query).filter((query) => tables.some((table) => query.includes(table)));
    // Indexes and checks are the migrations' alone: TypeORM would drop what no entity names.
    expect(drift.filter((query) => !/^(DROP INDEX|ALTER TABLE \S+ DROP CONSTRAINT)/.test(query))).toEqual([]);
  });

  it('can be taken back one by one, and made again, to the same schema', async () => {
    const before = await schema();
    expect(before.length).toBeGreaterThan(50);
    for (let left = MIGRATIONS.length; left > 0; left--) {
      await store.dataSource.undoLastMigration({ transaction: 'each' });
      // Each one alone, too.
      await store.dataSource.runMigrations();
      for (let back = MIGRATIONS.length; back >= left; back--) {
        await store.dataSource.undoLastMigration({ transaction: 'each' });
      }
    }
    expect(await schema()).toEqual([]);
    await store.dataSource.runMigrations();
    expect(await schema()).toEqual(before);
  });

  it('complete versions of endpoints that have no ends', async () => {
    const before = await schema();
    await store.query(`insert into endpoint_versions (endpoint_id, org_id, after_seq, changed_at, events, is_deleted, url)
      select id, gen_random_uuid(), 0, at, '{}', url is not null, url from (values
        ('whe_1', timestamptz '2030-01-01', null), ('whe_1', '2030-01-02', null), ('whe_2', '2030-01-03', null),
        ('whe_2', '2030-01-04', 'https://a.example.com')
      ) version (id, at, url)`);
    await store.query(`
      alter table endpoint_versions drop column replaced_at;
      create index endpoint_versions_by_time on endpoint_versions (changed_at);
      create or replace function gapless_keep_endpoint_version() returns trigger language plpgsql as
        $$ begin return null; end $$;
      delete from migrations where name = 'EndsOfVersions1700000000111'`);
    await store.migrate();
    expect(await schema()).toEqual(before);
    const rows = await store.query<{ replaced_at: Date | null }>(
      'select replaced_at from endpoint_versions order by position',
    );
    expect(rows.map((row) => row.replaced_at?.toISOString().slice(0, 10))).toEqual([
      '2030-01-02',
      undefined,
      '2030-01-04',
      '2030-01-04',
    ]);
    await store.query('delete from endpoint_versions');
  });

  it('let pg_restore, which has no search path, fill the tables that have triggers', async () => {
    await store.query(`
      set local search_path = '';
      insert into public.endpoints (id, org_id, url, events, secret_ciphertext, created_at)
      values ('whe_restored', gen_random_uuid(), 'https://a.example.com', '{ticket.created}', '', now())`);
    const kept = await store.query(`select 1 from endpoint_versions where endpoint_id = 'whe_restored'`);
    expect(kept).toHaveLength(1);
    await store.query('delete from endpoints; delete from endpoint_versions');
  });

  it('are done once by processes that start together', async () => {
    const fresh = await createTestDatabase(() => Promise.resolve(), 'empty');
    const stores = Array.from({ length: 4 }, () => aStore(fresh.url));
    await Promise.all(stores.map((one) => one.open(() => undefined)));
    const rows = await stores[0]!.query<{ name: string }>('select name from migrations order by id');
    expect(rows.map(({ name }) => name)).toEqual(MIGRATIONS.map((Migration) => new Migration().name));
    await Promise.all(stores.map((one) => one.close()));
    await fresh.drop();
  });
});
