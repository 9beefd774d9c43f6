import type { OrgId } from '#libs/domain';
import type { Store } from '../connection/store.js';

/**
 * Counts the index entries that the queries of `act` read: a plan that filters what it reads needs more of them. The
 * queries run one after another.
 */
export async function indexEntriesRead(store: Store, orgId: OrgId, act: () => Promise<unknown>): Promise<number> {
  return countedBy(store, orgId, 'select coalesce(sum(idx_tup_read), 0)::int as count from pg_stat_user_indexes', act);
}

/** Counts the pages of indexes that the queries of `act` read. They run one after another. */
export async function indexPagesRead(store: Store, orgId: OrgId, act: () => Promise<unknown>): Promise<number> {
  const sql = 'select coalesce(sum(idx_blks_read + idx_blks_hit), 0)::int as count from pg_statio_user_indexes';
  return countedBy(store, orgId, sql, act);
}

/** Counts how often the queries of `act` search an index of the table's days. */
export async function indexScans(
  store: Store,
  orgId: OrgId,
  table: string,
  act: () => Promise<unknown>,
): Promise<number> {
  const sql = `select coalesce(sum(idx_scan), 0)::int as count from pg_stat_user_indexes where relname like '${table}%'`;
  return countedBy(store, orgId, sql, act);
}

async function countedBy(store: Store, orgId: OrgId, sql: string, act: () => Promise<unknown>): Promise<number> {
  const before = await count(store, orgId, sql);
  await act();
  return (await count(store, orgId, sql)) - before;
}

async function count(store: Store, orgId: OrgId, sql: string): Promise<number> {
  // A connection that stands idle shows its counts after 10 s. So each one is asked to show them.
  const flush = 'select pg_stat_force_next_flush()';
  const all = Array.from({ length: store.connections.idle });
  await Promise.all([
    ...all.map(() => store.query(flush)),
    ...all.map(() => store.forOrg(orgId, (runner) => runner.query(flush))),
  ]);
  const [row] = await store.query<{ count: number }>(sql);
  return row?.count ?? 0;
}
