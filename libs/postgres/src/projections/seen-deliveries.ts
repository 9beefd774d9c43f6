/**
 * Deliveries as everyone has to see them: `d` is the stored row, `n` how often all pending deliveries of its endpoint
 * have ended (ADR 36). A row is read through these, so that a backlog is ended for all readers at the same moment.
 */
export const SEEN_DELIVERIES = 'deliveries d left join endpoint_endings n on n.endpoint_id = d.endpoint_id';

/** Whether the row has ended with its endpoint and the sweep has not come to it yet. */
export const IS_ENDED = `(d.status = 'pending' and d.endings < coalesce(n.endings, 0))`;

/** The columns that an ending changes. */
const SEEN = {
  status: `case when ${IS_ENDED} then 'failed' else d.status end`,
  last_error: `case when ${IS_ENDED} then 'endpoint_disabled' else d.last_error end`,
  next_attempt_at: `case when ${IS_ENDED} then null else d.next_attempt_at end`,
} as const;

/** A column of `deliveries`, as it is seen. */
export function seen(column: string): string {
  return (SEEN as Readonly<Record<string, string>>)[column] ?? `d.${column}`;
}

/** The stored statuses: an index that begins with the endpoint and the status is read by naming all of them. */
export const ANY_STATUS = `d.status = any('{pending,delivered,failed}')`;
