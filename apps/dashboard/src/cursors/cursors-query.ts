import { queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client.js';

/** Readers move every few seconds at most, and nobody decides by the second here. */
const REFETCH_MS = 10_000;

export function cursorsQuery() {
  return queryOptions({
    queryKey: ['cursors'],
    queryFn: () => dataOf(api.GET('/api/v1/external/cursors')),
    refetchInterval: REFETCH_MS,
  });
}
