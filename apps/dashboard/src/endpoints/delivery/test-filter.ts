import { useMutation } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.js';
import type { FilterTest } from '../../api/resources.js';

/** Evaluates a filter for stored events. */
export function useTestFilter() {
  return useMutation({
    mutationFn: (body: FilterTest) => dataOf(api.POST('/api/v1/external/webhooks/filter-test', { body })),
  });
}
