import { expect, it } from '@jest/globals';
import { Client } from 'pg';
import { createTestDatabase } from '../../../test/support/infrastructure/database.js';
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
    await expect(withStore(environment, done)).rejects.toThrow(/the schema lacks .*: run gapless migrate$/);
    expect(await tables()).toEqual([{ name: null }]);
    const adopts = withStore({ ...environment, MIGRATE_AT_START: 'false' }, done, { migrates: true });
    await expect(adopts).rejects.toThrow('run gapless migrate');
    expect(await withStore(environment, done, { migrates: true })).toBe('done');
    expect(await withStore(environment, done)).toBe('done');
  } finally {
    await database.drop();
  }
});
