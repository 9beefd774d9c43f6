import { ANY_STATUS, IS_ENDED, SEEN_DELIVERIES } from '../projections/seen-deliveries.js';

/** Whether the delivery `d` is acknowledged or given up. What ended with a suspension is sent again after it. */
const IS_SETTLED = `(d.status = 'delivered' or d.status = 'failed' and d.last_error is distinct from 'endpoint_disabled')
  and not ${IS_ENDED}`;

/**
 * Moves watermarks to right before the first event that is not settled, or to the head of the feed. An event without a
 * delivery is not settled: the router has yet to see it. So nothing depends on how far the router or the projector is.
 * Parameter: a subscription, or null for all.
 */
const ADVANCE = `
  update mcp_subscriptions s set watermark_seq = moved.to_seq
  from (
    select s.id, coalesce(open.seq - 1, h.last_seq) as to_seq
    from mcp_subscriptions s
    join org_heads h on h.org_id = s.org_id and h.last_seq > s.watermark_seq
    left join lateral (
      select e.seq from events e
      where e.org_id = s.org_id and e.event_type = s.name and e.seq > s.watermark_seq and e.seq <= h.last_seq
        and (s.widget_id is null or e.widget_id = s.widget_id)
        and not exists (
          select from ${SEEN_DELIVERIES}
          where d.endpoint_id = s.endpoint_id and ${ANY_STATUS} and d.created_at = e.appended_at and d.seq = e.seq
            and ${IS_SETTLED}
        )
      order by e.seq limit 1
    ) open on true
    where s.ended_at is null and ($1::text is null or s.id = $1)
  ) moved
  where s.id = moved.id and moved.to_seq > s.watermark_seq`;

/**
 * Moves watermarks over events that retention has removed, and remembers that subscribers miss them. The types of
 * removed events are not known, so each counts. Parameters: a subscription, or null for all; the oldest time that is
 * kept.
 */
const FIND_GAPS = `
  with moved as (
    update mcp_subscriptions s set watermark_seq = g.to_seq, gap_seq = g.to_seq,
      caught_up_seq = greatest(s.caught_up_seq, g.to_seq), notice_id = null, notice_attempts = 0, notice_due_at = now()
    from (
      select s.id, coalesce((
        select e.seq - 1 from events e
        where e.org_id = s.org_id and e.seq > s.watermark_seq and e.appended_at >= $2 order by e.seq limit 1
      ), h.last_seq) as to_seq
      from mcp_subscriptions s
      join org_heads h on h.org_id = s.org_id and h.last_seq > s.watermark_seq
      where s.ended_at is null and ($1::text is null or s.id = $1) and not exists (
        select from events e where e.org_id = s.org_id and e.seq = s.watermark_seq + 1 and e.appended_at >= $2
      )
    ) g
    where s.id = g.id and g.to_seq > s.watermark_seq
    returning s.id
  ) select id from moved`;

/**
 * Moves the watermark of the subscription, or of all. Gaps come first: an event that is gone is not open any more, so
 * the watermark would pass it in silence.
 * @returns the number of subscriptions that miss events
 */
export async function advanceWatermarks(
  query: (sql: string, parameters: unknown[]) => Promise<unknown>,
  keptSince: Date,
  id: string | null,
): Promise<number> {
  const found = (await query(FIND_GAPS, [id, keptSince])) as unknown[];
  await query(ADVANCE, [id]);
  return found.length;
}
