import { ApiClient } from '../../../api-client/src/index.js';
import { CliError } from '../cli-error.js';
import type { CliContext } from '../context.js';
import { reportsRetries } from '../explain.js';
import type { Credentials } from '../settings/credentials.js';
import { START_RETRIES } from './open-feed.js';

/**
 * Returns the id of the organization that the key belongs to. Every valid key may read it. The events have it too, but a
 * feed can be empty.
 * @throws ApiError
 * @throws CliError when something else answers at this URL
 */
export async function readOrgId(
  context: Pick<CliContext, 'report'>,
  { url: baseUrl, apiKey }: Credentials,
  signal: AbortSignal,
): Promise<string> {
  const api = new ApiClient({ baseUrl, apiKey, retries: START_RETRIES, onRetry: reportsRetries(context) });
  const { body } = await api.request({ method: 'GET', path: '/dashboard/organization', signal });
  const { data } = (body ?? {}) as { readonly data?: { readonly org_id?: unknown } | null };
  if (typeof data?.org_id === 'string') return data.org_id;
  throw new CliError('Gapless does not say whose the API key is: something else answers. Check the URL, and proxies.');
}
