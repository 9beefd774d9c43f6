import { GaplessError } from '#libs/domain';
import type { EndpointRecord } from '#libs/postgres';

/** @throws GaplessError `endpoint_inactive`: nothing is sent to an inactive endpoint */
export function refuseInactive(endpoint: EndpointRecord): void {
  if (!endpoint.isActive) {
    throw new GaplessError('endpoint_inactive', 'The endpoint is inactive; enable it with PATCH {"is_active": true}.');
  }
}
