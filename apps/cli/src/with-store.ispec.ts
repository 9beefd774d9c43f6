import { expect, it } from '@jest/globals';
import { Client } from 'pg';
import { databaseName } from '#libs/runtime';
import { createTestDatabase } from '../../../test/support/infrastructure/database.js';
import { migrateTestDatabase } from '../../../test/support/store.js';
import { openFeed } from './open-feed.js';
import { withStore, withUnopenedStore } from './with-store.js';

it('leaves the schema as it is, unless the command fills new databases', async () => {
  const database = await createTestDatabase(() => Promise.resolve(), 'empty');
  try {
    const environment = { DATABASE_URL: database.url };
    const tables = async () => {
      const client = new Client({ connectionString: database.url });
      await client.connect();
      const { rows } = await client.query<{ name: string | null }>(`select to_regclass('migrations')::text as name`);
      await client.end();
      return rows;
    };
    const done = () => Promise.resolve('done');
    await expect(withStore(environment, done)).rejects.toThrow(/the schema of .* lacks .*: run gapless migrate$/);
    expect(await tables()).toEqual([{ name: null }]);
    const adopts = withStore({ ...environment, MIGRATE_AT_START: 'false' }, done, { migrates: true });
    await expect(adopts).rejects.toThrow('run gapless migrate');
    expect(await withStore(environment, done, { migrates: true })).toBe('done');
    expect(await withStore(environment, done)).toBe('done');
  } finally {
    await database.drop();
  }
});

it.each([
  ['makes no account for requests if the settings say so', 'off', 0],
  ['makes no account for requests if the settings name one', 'postgres://requests@localhost/gapless', 0],
  ['makes an account for requests otherwise', undefined, 1],
])('%s', async (_title, tenantDatabaseUrl, logins) => {
  const [main, feed] = await Promise.all([1, 2].map(() => createTestDatabase(() => Promise.resolve(), 'empty')));
  try {
    const environment = {
      DATABASE_URL: main!.url,
      PROJECTION_DATABASE_URLS: feed!.url,
      TENANT_DATABASE_URL: tenantDatabaseUrl,
    };
    await withUnopenedStore(environment, async (store) => {
      for (const each of [store, ...store.feed.others.map((other) => other.store)]) await each.migrate();
    });
    for (const { url } of [main!, feed!]) {
      const found = await withStore({ DATABASE_URL: url }, (store) => store.query('select from tenant_login'));
      expect(found).toHaveLength(logins);
    }
  } finally {
    await Promise.all([main!.drop(), feed!.drop()]);
  }
});

it('refuses an account for requests that is not one', async () => {
  const environment = { DATABASE_URL: 'postgres://localhost/gapless', TENANT_DATABASE_URL: 'on' };
  await expect(withUnopenedStore(environment, () => Promise.resolve())).rejects.toThrow(/^TENANT_DATABASE_URL=…: /);
});

it('migrates the databases to which the feed moves, whatever the settings say', async () => {
  const main = await createTestDatabase(migrateTestDatabase);
  const other = await createTestDatabase(() => Promise.resolve(), 'empty');
  try {
    const environment = { DATABASE_URL: main.url, PROJECTION_DATABASE_URLS: other.url, MIGRATE_AT_START: 'false' };
    const opened = (movesFeed: boolean) =>
      withStore(
        environment,
        async (store) => {
          await openFeed(store, environment, { placesAreChecked: false, movesFeed });
          return store.feed.others.map(({ store: { isOpen } }) => isOpen);
        },
        { migrates: true },
      );
    await expect(opened(false)).rejects.toThrow(`the schema of ${databaseName(other.url)} lacks `);
    expect(await opened(true)).toEqual([true]);
  } finally {
    await Promise.all([main.drop(), other.drop()]);
  }
});
