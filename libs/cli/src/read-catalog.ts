import type { ApiClient } from '../../api-client/src/index.js';
import { CliError } from './cli-error.js';

/** A type of the catalog. */
interface CatalogEntry {
  readonly event: string;
  readonly example?: unknown;
}

/**
 * Returns the event types of Gapless. Every valid key may read them.
 * @throws ApiError
 * @throws CliError when something else answers at this URL
 */
export async function readCatalog(api: ApiClient): Promise<readonly CatalogEntry[]> {
  const { body } = await api.request({ method: 'GET', path: '/external/event-types' });
  const { data } = (body ?? {}) as { readonly data?: unknown };
  if (Array.isArray(data)) return data as readonly CatalogEntry[];
  throw new CliError('There is no Gapless at this URL: something else answers. Check --url or GAPLESS_URL.');
}
