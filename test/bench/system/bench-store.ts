import { Store } from '#libs/postgres';
import { createLogger } from '#libs/runtime';

/** Filling ten million rows takes its time. */
const QUERY_TIMEOUT_MS = 1_500_000;

/** Works on the Postgres of a Gapless whose schema is up to date. */
export async function withStore<T>(databaseUrl: string, act: (store: Store) => Promise<T>): Promise<T> {
  const store = new Store({
    databaseUrl,
    applicationName: 'gapless-bench',
    logger: createLogger('silent', 'bench'),
    queryTimeoutMs: QUERY_TIMEOUT_MS,
    migratesWhenOpened: false,
  });
  await store.open(() => undefined);
  try {
    return await act(store);
  } finally {
    await store.close();
  }
}
