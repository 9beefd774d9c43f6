import type { Store } from '#libs/feed-store';
import type { Postgres } from './postgres.js';

/** The store of a process, on the simulated Postgres. */
export function simulatedStore(postgres: Postgres): Store {
  const transaction = <T>(act: (runner: { query: Postgres['query'] }) => Promise<T>): Promise<T> =>
    postgres.transaction((query) => act({ query: (sql, parameters) => query(sql, parameters) }));
  const store = {
    isOpen: true,
    query: (sql: string, parameters: readonly unknown[] = []) => postgres.query(sql, parameters),
    prepared: (_name: string, sql: string, parameters: readonly unknown[]) => postgres.query(sql, parameters),
    preparedForOrg: (_org: string, _name: string, sql: string, parameters: readonly unknown[]) =>
      postgres.query(sql, parameters),
    transaction,
    snapshot: transaction,
    forOrg: <T>(_org: string, act: (runner: { query: Postgres['query'] }) => Promise<T>) => transaction(act),
  };
  return store as unknown as Store;
}
