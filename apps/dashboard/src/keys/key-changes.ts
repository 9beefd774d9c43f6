import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api, dataOf, done } from '../api/client.js';
import { apiKeysQuery } from '../api/queries.js';
import type { Scope } from '../api/resources.js';

export function useCreateKey() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: {
      readonly name: string | null;
      readonly scopes: Scope[];
      readonly expires_at: string | null;
    }) => dataOf(api.POST('/api/v1/external/api-keys', { body })),
    onSuccess: () => {
      void queries.invalidateQueries(apiKeysQuery());
    },
  });
}

export function useRevokeKey() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => done(api.DELETE('/api/v1/external/api-keys/{id}', { params: { path: { id } } })),
    onSuccess: () => queries.invalidateQueries(apiKeysQuery()),
  });
}
