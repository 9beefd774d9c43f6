import { FeedServers, type Store } from '#libs/postgres';
import { COUNT_ENDPOINTS, INSERT_ENDPOINT, UPDATE_ENDPOINT } from './endpoint-statements.js';
import type { Postgres } from './postgres.js';

type Query = (sql: string, parameters?: readonly unknown[]) => Promise<unknown[]>;

/** What of TypeORM's is used of a runner: endpoints are the only entity that is written here. */
interface Runner {
  readonly query: Postgres['query'];
  readonly manager: ReturnType<typeof managerOf>;
}

function managerOf(query: Query) {
  return {
    countBy: async () => {
      const [row] = (await query(COUNT_ENDPOINTS)) as { readonly count: number }[];
      return row?.count ?? 0;
    },
    insert: (_entity: unknown, values: unknown) => query(INSERT_ENDPOINT, [values]),
    update: (_entity: unknown, where: unknown, values: unknown) => query(UPDATE_ENDPOINT, [where, values]),
  };
}

/** The store of a process, on the simulated Postgres. */
export function simulatedStore(postgres: Postgres): Store {
  const transaction = <T>(act: (runner: Runner) => Promise<T>): Promise<T> =>
    postgres.transaction((query) =>
      act({ query: (sql, parameters) => query(sql, parameters), manager: managerOf(query) }),
    );
  const store = {
    isOpen: true,
    query: (sql: string, parameters: readonly unknown[] = []) => postgres.query(sql, parameters),
    prepared: (_name: string, sql: string, parameters: readonly unknown[]) => postgres.query(sql, parameters),
    preparedForOrg: (_org: string, _name: string, sql: string, parameters: readonly unknown[]) =>
      postgres.query(sql, parameters),
    transaction,
    snapshot: transaction,
    forOrg: <T>(_org: string, act: (runner: Runner) => Promise<T>) => transaction(act),
  };
  const whole = store as unknown as Store;
  return Object.assign(whole, {
    feed: new FeedServers(whole, [{ place: 0, name: 'simulated', store: whole }], () => 0),
    replicas: { all: [] },
  });
}
