import type { Activity, Endpoint, HealthStatus } from '../api/resources.js';
import { matchesText } from '../find/matches-text.js';
import { healthOf } from './health-of.js';

/** Which endpoints to list, in the address of the page. */
export interface EndpointFilter {
  readonly health?: HealthStatus;
  readonly text?: string;
}

/** The states by which endpoints are listed, in the order of their urgency. */
export const HEALTHS: readonly HealthStatus[] = ['disabled', 'failing', 'paused', 'never_tried', 'healthy'];

/** Reads the parameters of an address, and ignores invalid ones. */
export function parseEndpointFilter(search: Record<string, unknown>): EndpointFilter {
  const health = HEALTHS.find((status) => status === search['health']);
  // The router reads digits alone as a number.
  const text = ['string', 'number'].includes(typeof search['text']) ? String(search['text']) : '';
  return { ...(health === undefined ? {} : { health }), ...(text === '' ? {} : { text }) };
}

export function filteredEndpoints(
  endpoints: readonly Endpoint[],
  activity: readonly Activity[] | undefined,
  { health, text }: EndpointFilter,
): readonly Endpoint[] {
  return endpoints.filter(
    (endpoint) =>
      (health === undefined || healthOf(endpoint, activity) === health) &&
      (text === undefined || matchesText(endpoint, text)),
  );
}
