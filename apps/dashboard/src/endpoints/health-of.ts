import type { Endpoint, HealthStatus } from '../api/resources.js';

/** The health of an endpoint as lists show it, which carry no figures. */
export function healthOf({ is_active: isActive, failure_count: failures }: Endpoint): HealthStatus {
  if (!isActive) return 'disabled';
  return failures > 0 ? 'failing' : 'healthy';
}

const URGENCY: Readonly<Record<HealthStatus, number>> = { disabled: 0, failing: 1, healthy: 2 };

/** What needs somebody first; the api's order among equals. */
export function byUrgency(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  return endpoints.toSorted((a, b) => URGENCY[healthOf(a)] - URGENCY[healthOf(b)]);
}
