import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { api, dataOf, done } from '../api/client.js';

const REFETCH_MS = 10_000;

export function subscriptionsQuery() {
  return queryOptions({
    queryKey: ['mcp-subscriptions'],
    queryFn: () => dataOf(api.GET('/api/v1/external/mcp-subscriptions')),
    refetchInterval: REFETCH_MS,
  });
}

export function useEndSubscription() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string) =>
      done(api.DELETE('/api/v1/external/mcp-subscriptions/{id}', { params: { path: { id } } })),
    onSuccess: () => queries.invalidateQueries(subscriptionsQuery()),
  });
}
