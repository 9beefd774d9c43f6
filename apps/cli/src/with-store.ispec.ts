import { expect, it } from '@jest/globals';
import { Client } from 'pg';
import { databaseName } from '#libs/runtime';
import { createTestDatabase } from '../../../test/support/infrastructure/database.js';
import { migrateTestDatabase } from '../../../test/support/store.js';
import { openFeed } from './open-feed.js';
import { withStore } from './with-store.js';

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
