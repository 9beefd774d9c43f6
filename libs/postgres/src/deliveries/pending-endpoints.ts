import type { EndpointId } from '#libs/domain';
import type { Store } from '../connection/store.js';

/** If fewer endpoints than that have something, they are listed without a look at those that are asked about. */
const FEW_PENDING = 16;
/** Endpoints that one statement asks about. With 32 days, it takes about a second if all of them have something. */
const ASKED_AT_ONCE = 2_000;

/** Skips through the index of pending deliveries from endpoint to endpoint. Parameter: how many to list. */
const LIST = `
  with recursive pending(id) as (
    (select endpoint_id from deliveries where status = 'pending' order by endpoint_id limit 1)
    union all
    select (
      select endpoint_id from deliveries
      where status = 'pending' and endpoint_id > pending.id order by endpoint_id limit 1
    ) from pending where pending.id is not null
  )
  select id from pending where id is not null limit $1`;

/**
 * Walks the asked ids and the index of pending deliveries together, both in order: from an asked id to the next endpoint
 * with something, and from there to the next asked id. So it takes at most one step for each asked id, and at most one for
 * each endpoint with something between them. Parameter: the ids.
 */
const WALK = `
  with recursive asked as materialized (
    select array(select id from unnest($1::text[]) as given(id) order by id) as ids
  ), walked(id, next) as (
    select null::text, ids[1] from asked
    union all
    select found.id, asked.ids[width_bucket(found.id, asked.ids) + 1]
    from walked
    cross join asked
    cross join lateral (
      select endpoint_id as id from deliveries
      where status = 'pending' and endpoint_id >= walked.next order by endpoint_id limit 1
    ) found
    where walked.next is not null
  )
  select id from walked where id is not null`;

/**
 * Returns those of the endpoints that have pending deliveries, so that idle ones cost nothing: to look for the deliveries
 * of one endpoint is a search in each day of the delivery log. Some may have only those that ended with their endpoint.
 */
export async function maybePending(store: Store, endpoints: readonly EndpointId[]): Promise<readonly EndpointId[]> {
  const few = await store.prepared<{ id: EndpointId }>('few_pending_endpoints', LIST, [FEW_PENDING]);
  const pending = new Set(few.map(({ id }) => id));
  if (few.length === FEW_PENDING) {
    for (let from = 0; from < endpoints.length; from += ASKED_AT_ONCE) {
      const asked = endpoints.slice(from, from + ASKED_AT_ONCE);
      const rows = await store.prepared<{ id: EndpointId }>('pending_endpoints', WALK, [asked]);
      for (const { id } of rows) pending.add(id);
    }
  }
  return endpoints.filter((id) => pending.has(id));
}
