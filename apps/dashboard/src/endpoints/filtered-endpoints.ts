import type { Activity, Endpoint } from '../api/resources.js';
import { matchesText } from '../find/matches-text.js';
import type { EndpointSearch } from './endpoint-search.js';
import { healthOf } from './health-of.js';

/** Returns the endpoints that the filter of the page lets through, in their order. */
export function filteredEndpoints(
  endpoints: readonly Endpoint[],
  activity: readonly Activity[] | undefined,
  { health, text }: EndpointSearch,
): readonly Endpoint[] {
  return endpoints.filter(
    (endpoint) =>
      (health === undefined || healthOf(endpoint, activity) === health) &&
      (text === undefined || matchesText(endpoint, text)),
  );
}
