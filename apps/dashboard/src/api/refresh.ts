import type { Query, QueryClient, QueryFilters } from '@tanstack/react-query';

/** Queries whose read is under way, and that are read once more after it. */
const again = new WeakSet<Query>();

/**
 * Requests again what is shown. It does not give up a read that is under way: if changes came faster than answers, no
 * answer would ever count. Such an answer may be older than the change, so there is one more read after it.
 */
export function refresh(queries: QueryClient, filters: QueryFilters): void {
  for (const query of queries.getQueryCache().findAll({ ...filters, type: 'active', fetchStatus: 'fetching' })) {
    if (again.has(query)) continue;
    again.add(query);
    const readAgain = () => {
      again.delete(query);
      refresh(queries, { ...filters, queryKey: query.queryKey, exact: true });
    };
    query.fetch().then(readAgain, readAgain);
  }
  void queries.invalidateQueries(filters, { cancelRefetch: false });
}
