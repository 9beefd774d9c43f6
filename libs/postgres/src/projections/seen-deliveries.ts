/**
 * Deliveries as readers must see them: `d` is the stored row, `n` counts how often all pending deliveries of its
 * endpoint ended (ADR 36). All queries read rows through this, so that a backlog ends for all readers at once.
 */
export const SEEN_DELIVERIES = 'deliveries d left join endpoint_endings n on n.endpoint_id = d.endpoint_id';

/** Whether the row has ended with its endpoint, before the sweep has updated it. */
export const IS_ENDED = `(d.status = 'pending' and d.endings < coalesce(n.endings, 0))`;

/** The columns that an ending changes. */
const SEEN = {
  status: `case when ${IS_ENDED} then 'failed' else d.status end`,
  last_error: `case when ${IS_ENDED} then 'endpoint_disabled' else d.last_error end`,
  next_attempt_at: `case when ${IS_ENDED} then null else d.next_attempt_at end`,
} as const;

/** Returns SQL for the visible value of a column of `deliveries`. */
export function seen(column: string): string {
  return (SEEN as Readonly<Record<string, string>>)[column] ?? `d.${column}`;
}

/** Names all stored statuses, so that an index that begins with endpoint and status can be used. */
export const ANY_STATUS = `d.status = any('{pending,delivered,failed}')`;

/**
 * Returns SQL for the number of endings of an endpoint. Use it to compare `endings` in queries of requests: row-level
 * security lets no comparison with a `coalesce` use an index.
 * @param endpointId SQL for the endpoint's id
 */
export function endingsOf(endpointId: string): string {
  return `(select coalesce(max(endings), 0) from endpoint_endings where endpoint_id = ${endpointId})`;
}
