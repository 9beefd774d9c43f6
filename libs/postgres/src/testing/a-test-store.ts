import { randomBytes } from 'node:crypto';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/infrastructure/database.js';
import { aStore, migrateTestDatabase } from '../../../../test/support/store.js';
import { SecretCipher } from '../access/secret-cipher.js';
import type { Store } from '../connection/store.js';

/** Makes a database with the schema of a Gapless, and nothing in it. */
export function aTestDatabase(): Promise<TestDatabase> {
  return createTestDatabase(migrateTestDatabase);
}

/** Opens a store with a database of the suite's own. */
export async function aTestStore(): Promise<{
  readonly store: Store;
  readonly url: string;
  readonly drop: () => Promise<void>;
}> {
  const database = await aTestDatabase();
  const store = aStore(database.url);
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
