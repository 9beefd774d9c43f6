import type { ShadowStoreOptions } from '#libs/postgres';
import { createLogger } from '#libs/runtime';

/** Longer than any statement of a fold takes. */
const QUERY_TIMEOUT_MS = 600_000;

/** How a rebuild, or a move, opens the tables that it folds into. */
export function foldStoreOptions(databaseUrl: string) {
  return {
    databaseUrl,
    applicationName: 'gapless-rebuild',
    logger: createLogger('silent', 'cli'),
    queryTimeoutMs: QUERY_TIMEOUT_MS,
  } satisfies ShadowStoreOptions;
}
