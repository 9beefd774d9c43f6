import type { EndpointId } from '#libs/domain';
import type { Store } from '../connection/store.js';

/** It pays to leave out idle endpoints if no more than so many have something … */
const FEW_PENDING = 16;
/** … or no more than this part of those that are asked about. */
const FEW_PENDING_PART = 4;

/**
 * Returns those of the endpoints that may have pending deliveries, so that idle ones cost nothing: to look for the
 * deliveries of one endpoint is a search in each day of the delivery log. The query skips through the index from endpoint
 * to endpoint. It gives up if too many have something, and then all are returned.
 */
export async function maybePending(store: Store, endpoints: readonly EndpointId[]): Promise<readonly EndpointId[]> {
  const limit = Math.max(FEW_PENDING, Math.floor(endpoints.length / FEW_PENDING_PART));
  const rows = await store.prepared<{ id: EndpointId }>(
    'pending_endpoints',
    `with recursive pending(id) as (
       (select endpoint_id from deliveries where status = 'pending' order by endpoint_id limit 1)
       union all
       select (
         select endpoint_id from deliveries
         where status = 'pending' and endpoint_id > pending.id order by endpoint_id limit 1
       ) from pending where pending.id is not null
     )
     select id from pending where id is not null limit $1`,
    [limit],
  );
  if (rows.length === limit) return endpoints;
  const pending = new Set(rows.map(({ id }) => id));
  return endpoints.filter((id) => pending.has(id));
}
