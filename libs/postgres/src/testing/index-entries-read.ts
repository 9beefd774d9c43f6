import type { OrgId } from '#libs/domain';
import type { Store } from '../connection/store.js';

/**
 * Counts the index entries that the queries of `act` read: a plan that filters what it reads needs more of them. The
 * queries run one after another, for the org alone.
 */
export async function indexEntriesRead(store: Store, orgId: OrgId, act: () => Promise<unknown>): Promise<number> {
  const before = await entriesRead(store, orgId);
  await act();
  return (await entriesRead(store, orgId)) - before;
}

async function entriesRead(store: Store, orgId: OrgId): Promise<number> {
  // The connection that the queries of the org use has counts that others do not see yet.
  await store.forOrg(orgId, (runner) => runner.query('select pg_stat_force_next_flush()'));
  const [row] = await store.query<{ entries: number }>(
    'select coalesce(sum(idx_tup_read), 0)::int as entries from pg_stat_user_indexes',
  );
  return row?.entries ?? 0;
}
