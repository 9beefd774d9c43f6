import { QueryClient } from '@tanstack/react-query';
import { mayBeAskedAgain } from './retries.js';

/** Returns the store of what pages have loaded. */
export function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      // A browser that believes to be offline may be wrong, and a request that waits for it would never end.
      mutations: { networkMode: 'always' },
      queries: { networkMode: 'always', staleTime: 2_000, retry: mayBeAskedAgain },
    },
  });
}
