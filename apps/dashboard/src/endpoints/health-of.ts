import type { Endpoint, HealthStatus } from '../api/resources.js';

/** Returns the health of an endpoint for lists, which have no figures. */
export function healthOf({ is_active: isActive, failure_count: failures }: Endpoint): HealthStatus {
  if (!isActive) return 'disabled';
  return failures > 0 ? 'failing' : 'healthy';
}

const URGENCY: Readonly<Record<HealthStatus, number>> = { disabled: 0, failing: 1, healthy: 2 };

/** Sorts endpoints that need attention first. Equal ones keep the api's order. */
export function byUrgency(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  return endpoints.toSorted((a, b) => URGENCY[healthOf(a)] - URGENCY[healthOf(b)]);
}
