import { createLogger } from '#libs/runtime';
import { Store, type FeedSpread } from '../../libs/postgres/src/connection/store.js';

/** A `Store` that says nothing; it is not open yet. */
export function aStore(databaseUrl: string, feed?: FeedSpread): Store {
  return new Store({
    databaseUrl,
    applicationName: 'test',
    logger: createLogger('silent', 'test'),
    migratesWhenOpened: true,
    ...(feed === undefined ? {} : { feed }),
  });
}

export async function migrateTestDatabase(url: string): Promise<void> {
  const store = aStore(url);
  await store.open(() => undefined);
  await store.close();
}
