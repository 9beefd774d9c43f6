import {
  filteredReception,
  isReceived,
  seqFromText,
  type EndpointId,
  type EventFilters,
  type OrgId,
  type Seq,
} from '#libs/domain';
import { ANY_STATUS, IS_ENDED, SEEN_DELIVERIES } from '../projections/seen-deliveries.js';

/** Whether the delivery `d` is acknowledged or given up. What ended with a suspension is sent again after it. */
const IS_SETTLED = `(d.status = 'delivered' or d.status = 'failed' and d.last_error is distinct from 'endpoint_disabled')
  and not ${IS_ENDED}`;

/**
 * Moves watermarks to right before the first event that is not settled, or to the head of the feed. An event without a
 * delivery is not settled: the router has yet to see it. So nothing depends on how far the router or the projector is.
 * Subscriptions with a filter are left to `advanceFiltered`. Parameter: a subscription, or null for all.
 */
const ADVANCE = `
  update mcp_subscriptions s set watermark_seq = moved.to_seq
  from (
    select s.id, coalesce(open.seq - 1, h.last_seq) as to_seq
    from mcp_subscriptions s
    join endpoints n on n.id = s.endpoint_id and n.filter is null
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

/** In any order, so that none waits for others. Parameter: a subscription, or null for all. */
const FILTERED = `
  select s.id, s.org_id, s.endpoint_id, s.name, s.widget_id, s.watermark_seq, h.last_seq, n.filter
  from mcp_subscriptions s
  join endpoints n on n.id = s.endpoint_id and n.filter is not null
  join org_heads h on h.org_id = s.org_id and h.last_seq > s.watermark_seq
  where s.ended_at is null and ($1::text is null or s.id = $1)
  order by random() limit 100`;

const FILTERED_EVENTS = 200;
const FILTERED_BYTES = 1024 * 1024;
/** So many pages of a subscription are looked through at a time. */
const FILTERED_PAGES = 5;

/**
 * The next events of a subscription, each with its delivery, or with its contents if it has none. Parameters: the
 * endpoint, org, type, widget or null; the seq before the first event, that of the last one.
 */
const UNDELIVERED = `
  select e.seq, d.is_settled is not null as is_known, coalesce(d.is_settled, false) as is_settled,
    case when d.is_settled is null then e.envelope end as envelope
  from (
    select seq, appended_at, envelope,
      sum(octet_length(envelope)) over (order by seq) - octet_length(envelope) as bytes_before
    from (
      select seq, appended_at, envelope from events
      where org_id = $2 and event_type = $3 and ($4::uuid is null or widget_id = $4) and seq > $5 and seq <= $6
      order by seq limit ${FILTERED_EVENTS}
    ) next
  ) e
  left join lateral (
    select (${IS_SETTLED}) as is_settled from ${SEEN_DELIVERIES}
    where d.endpoint_id = $1 and ${ANY_STATUS} and d.created_at = e.appended_at and d.seq = e.seq
    limit 1
  ) d on true
  where e.bytes_before < ${FILTERED_BYTES}
  order by e.seq`;

interface Filtered {
  readonly id: string;
  readonly org_id: OrgId;
  readonly endpoint_id: EndpointId;
  readonly name: string;
  readonly widget_id: string | null;
  readonly watermark_seq: string;
  readonly last_seq: string;
  readonly filter: string;
}

interface Undelivered {
  readonly seq: string;
  readonly is_known: boolean;
  readonly is_settled: boolean;
  readonly envelope: Buffer | null;
}

type Query = (sql: string, parameters: unknown[]) => Promise<unknown>;

/**
 * Moves watermarks of subscriptions with a filter. The router leaves nothing behind of an event that a filter leaves
 * out, so the filter is asked again.
 */
async function advanceFiltered(query: Query, filters: EventFilters, id: string | null): Promise<void> {
  for (const subscription of (await query(FILTERED, [id])) as Filtered[]) {
    const reached = await settledTo(query, filters, subscription);
    await query(
      'update mcp_subscriptions set watermark_seq = $3 where id = $1 and endpoint_id = $2 and watermark_seq < $3',
      [subscription.id, subscription.endpoint_id, reached],
    );
  }
}

/** Returns the seq before the first open event, as far as it has looked. */
async function settledTo(query: Query, filters: EventFilters, subscription: Filtered): Promise<Seq> {
  const { org_id, endpoint_id, name, widget_id, last_seq, filter } = subscription;
  let reached = seqFromText(subscription.watermark_seq);
  for (let page = 0; page < FILTERED_PAGES; page++) {
    const events = (await query(UNDELIVERED, [
      endpoint_id,
      org_id,
      name,
      widget_id,
      reached,
      last_seq,
    ])) as Undelivered[];
    if (events.length === 0) return seqFromText(last_seq);
    for (const event of events) {
      if (isOpen(event, filter, filters)) return (seqFromText(event.seq) - 1) as Seq;
    }
    reached = seqFromText(events.at(-1)?.seq ?? last_seq);
  }
  return reached;
}

function isOpen({ is_known, is_settled, envelope }: Undelivered, filter: string, filters: EventFilters): boolean {
  if (is_known) return !is_settled;
  return envelope !== null && isReceived(filteredReception(filter, envelope, filters));
}

/**
 * Moves the watermark of the subscription, or of all. Gaps come first: an event that is gone is not open any more, so
 * the watermark would pass it in silence.
 * @returns the number of subscriptions that miss events
 */
export async function advanceWatermarks(
  query: Query,
  filters: EventFilters,
  keptSince: Date,
  id: string | null,
): Promise<number> {
  const found = (await query(FIND_GAPS, [id, keptSince])) as unknown[];
  await query(ADVANCE, [id]);
  await advanceFiltered(query, filters, id);
  return found.length;
}
