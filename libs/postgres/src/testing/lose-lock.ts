import type { Store } from '../connection/store.js';

/** Ends the connection that holds an advisory lock. */
export async function loseLock(store: Store, lock: number): Promise<void> {
  await store.query(
    `select pg_terminate_backend(pid, 5000) from pg_locks
     where locktype = 'advisory' and objid = $1 and database = (select oid from pg_database where datname = current_database())`,
    [lock],
  );
}
