import { randomBytes } from 'node:crypto';
import { createLogger } from '#libs/runtime';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/infrastructure/database.js';
import { SecretCipher } from '../access/secret-cipher.js';
import { Store, type FeedSpread } from '../connection/store.js';

/** Makes a `Store` without log output; it is not open yet. */
export function storeOf(databaseUrl: string, feed?: FeedSpread): Store {
  return new Store({
    databaseUrl,
    applicationName: 'test',
    logger: createLogger('silent', 'test'),
    migratesWhenOpened: true,
    ...(feed === undefined ? {} : { feed }),
  });
}

/** Makes a database with the schema of a Gapless, and nothing in it. */
export function aTestDatabase(): Promise<TestDatabase> {
  return createTestDatabase(migrate);
}

async function migrate(url: string): Promise<void> {
  const store = storeOf(url);
  await store.open(() => undefined);
  await store.close();
}

/** Opens a store with a database of the suite's own. */
export async function aTestStore(): Promise<{
  readonly store: Store;
  readonly url: string;
  readonly drop: () => Promise<void>;
}> {
  const database = await aTestDatabase();
  const store = storeOf(database.url);
  await store.open(() => undefined);
  return {
    store,
    url: database.url,
    async drop() {
      await store.close();
      await database.drop();
    },
  };
}

export function aCipher(): SecretCipher {
  return new SecretCipher(`test:${randomBytes(32).toString('base64')}`);
}
