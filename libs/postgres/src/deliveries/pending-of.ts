import { endingsOf } from '../projections/seen-deliveries.js';

/** Pending deliveries of an endpoint are counted up to this number, and as many are looked at for the oldest one. */
const LOOKED_AT = 10_000;

/**
 * Returns SQL for a table in parentheses with one row: `pending`, the number of pending deliveries of an endpoint, and
 * `oldest_pending_at`, when the event of the oldest was appended. An endpoint may have millions. While many that ended
 * with their endpoint are still stored as pending, the oldest may be null. Queries with it run after `IN_ORDER_OF_INDEX`.
 * @param endpointId SQL for the endpoint's id
 */
export function pendingOf(endpointId: string): string {
  return `(
    select pending, case when pending > 0 then (
      select created_at from (
        select created_at, seq, endings from deliveries where endpoint_id = ${endpointId} and status = 'pending'
        order by created_at, seq limit ${LOOKED_AT}
      ) stored
      where endings = ${endingsOf(endpointId)} order by created_at, seq limit 1
    ) end as oldest_pending_at
    from (
      select count(*)::int as pending from (
        -- In the order of the index that separates ended rows; the other one would read all of them.
        select from deliveries where endpoint_id = ${endpointId} and status = 'pending' and endings = ${endingsOf(endpointId)}
        order by next_attempt_at limit ${LOOKED_AT}
      ) first
    ) counted
  )`;
}
