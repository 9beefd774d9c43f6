import {
  EXAMPLE_ID_BEGINNING,
  filteredReception,
  isReceived,
  seqFromText,
  type EndpointId,
  type EventFilters,
  type OrgId,
  type Seq,
} from '#libs/domain';
import type { Store } from '../connection/store.js';
import { ANY_STATUS, IS_ENDED, SEEN_DELIVERIES } from '../projections/seen-deliveries.js';

/** Whether the delivery `d` is acknowledged or given up. What ended with a suspension is sent again after it. */
const IS_SETTLED = `(d.status = 'delivered' or d.status = 'failed' and d.last_error is distinct from 'endpoint_disabled')
  and not ${IS_ENDED}`;

/** Whether the event is for subscriptions. Examples are for the one endpoint that they were sent to. */
export const IS_FOR_AGENTS = `not starts_with(event_id, '${EXAMPLE_ID_BEGINNING}')`;

/** The start of the first day with an event after the watermark of `s`. So the days before it are not searched. */
export const FIRST_DAY = `coalesce((
          select min(day)::timestamp at time zone 'UTC' from feed_days
          where org_id = s.org_id and last_seq > s.watermark_seq
        ), '-infinity')`;

/** Live subscriptions, by id. Parameters: the id before the first one, their number. */
const PAGE = 'select id from mcp_subscriptions where ended_at is null and id > $1 order by id limit $2';

/**
 * Moves watermarks to right before the first event that is not settled, or to the head of the feed. An event without a
 * delivery is not settled: the router has yet to see it. So nothing depends on how far the router or the projector is.
 * Subscriptions with a filter are left to `advanceFiltered`. Parameter: subscriptions.
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
        and (s.widget_id is null or e.widget_id = s.widget_id) and ${IS_FOR_AGENTS}
        and e.appended_at >= ${FIRST_DAY}
        and not exists (
          select from ${SEEN_DELIVERIES}
          where d.endpoint_id = s.endpoint_id and ${ANY_STATUS} and d.created_at = e.appended_at and d.seq = e.seq
            and ${IS_SETTLED}
        )
      order by e.seq limit 1
    ) open on true
    where s.ended_at is null and s.id = any($1::text[])
  ) moved
  where s.id = moved.id and moved.to_seq > s.watermark_seq`;

/**
 * Moves watermarks over events that retention has removed, and remembers that subscribers miss them. The types of
 * removed events are not known, so each counts. Parameters: subscriptions; the oldest time that is kept.
 */
const FIND_GAPS = `
  with moved as (
    update mcp_subscriptions s set watermark_seq = g.to_seq, gap_seq = g.to_seq,
      caught_up_seq = greatest(s.caught_up_seq, g.to_seq), notice_id = null, notice_attempts = 0, notice_due_at = now()
    from (
      select s.id, coalesce((
        select e.seq - 1 from events e
        where e.org_id = s.org_id and e.seq > s.watermark_seq and e.appended_at >= greatest($2::timestamptz, ${FIRST_DAY})
        order by e.seq limit 1
      ), h.last_seq) as to_seq
      from mcp_subscriptions s
      join org_heads h on h.org_id = s.org_id and h.last_seq > s.watermark_seq
      where s.ended_at is null and s.id = any($1::text[])
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
        and ${IS_FOR_AGENTS}
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

/** Parameters: a subscription, its endpoint, the seq. */
const MOVE =
  'update mcp_subscriptions set watermark_seq = $3 where id = $1 and endpoint_id = $2 and watermark_seq < $3';

interface Filtered {
  readonly id: string;
  readonly org_id: OrgId;
  readonly endpoint_id: EndpointId;
  readonly name: string;
  readonly widget_id: string | null;
  readonly watermark_seq: string;
  readonly last_seq: string;
  readonly filter: string | null;
}

interface Undelivered {
  readonly seq: string;
  readonly is_known: boolean;
  readonly is_settled: boolean;
  readonly envelope: Buffer | null;
}

/** Asks the main database. */
export type Query = (sql: string, parameters: unknown[]) => Promise<unknown>;

interface Use {
  readonly query: Query;
  readonly feed: Store['feed'];
  readonly filters: EventFilters;
}

/**
 * Moves watermarks of subscriptions with a filter. The router leaves nothing behind of an event that a filter leaves
 * out, so the filter is asked again.
 */
async function advanceFiltered({ query, filters }: Use, id: string | null): Promise<void> {
  for (const subscription of (await query(FILTERED, [id])) as Filtered[]) {
    const reached = await settledTo((parameters) => query(UNDELIVERED, parameters), filters, subscription);
    await query(MOVE, [subscription.id, subscription.endpoint_id, reached]);
  }
}

/** Returns the seq before the first open event, as far as it has looked. */
async function settledTo(
  undelivered: (parameters: unknown[]) => Promise<unknown>,
  filters: EventFilters,
  subscription: Filtered,
): Promise<Seq> {
  const { org_id, endpoint_id, name, widget_id, last_seq, filter } = subscription;
  let reached = seqFromText(subscription.watermark_seq);
  for (let page = 0; page < FILTERED_PAGES; page++) {
    const events = (await undelivered([endpoint_id, org_id, name, widget_id, reached, last_seq])) as Undelivered[];
    if (events.length === 0) return seqFromText(last_seq);
    for (const event of events) {
      if (isOpen(event, filter, filters)) return (seqFromText(event.seq) - 1) as Seq;
    }
    reached = seqFromText(events.at(-1)?.seq ?? last_seq);
  }
  return reached;
}

function isOpen(
  { is_known, is_settled, envelope }: Undelivered,
  filter: string | null,
  filters: EventFilters,
): boolean {
  if (is_known) return !is_settled;
  return filter === null || (envelope !== null && isReceived(filteredReception(filter, envelope, filters)));
}

/** Live subscriptions, with those that have no filter. Parameter: a subscription, or null for all. */
const LIVE = `
  select s.id, s.org_id, s.endpoint_id, s.name, s.widget_id, s.watermark_seq, n.filter
  from mcp_subscriptions s join endpoints n on n.id = s.endpoint_id
  where s.ended_at is null and ($1::text is null or s.id = $1)
  order by random()`;

/**
 * The heads of orgs, and for each the seq before the first event after a watermark that is kept, or null without any.
 * Parameters: orgs, watermarks; the oldest time that is kept.
 */
const HEADS = `
  select (asked.at - 1)::int as at, h.last_seq, (
    select e.seq - 1 from events e
    where e.org_id = asked.org_id and e.seq > asked.watermark and e.appended_at >= $3 order by e.seq limit 1
  ) as kept_from
  from unnest($1::uuid[], $2::bigint[]) with ordinality as asked(org_id, watermark, at)
  join org_heads h on h.org_id = asked.org_id and h.last_seq > asked.watermark`;

/** As `UNDELIVERED`, without the deliveries. The endpoint is of no use. */
const EVENTS_AFTER = `
  select seq, appended_at, envelope from (
    select seq, appended_at, envelope,
      sum(octet_length(envelope)) over (order by seq) - octet_length(envelope) as bytes_before
    from (
      select seq, appended_at, envelope from events
      where $1::text is not null and org_id = $2 and event_type = $3 and ($4::uuid is null or widget_id = $4)
        and seq > $5 and seq <= $6 and ${IS_FOR_AGENTS}
      order by seq limit ${FILTERED_EVENTS}
    ) next
  ) e
  where bytes_before < ${FILTERED_BYTES} order by seq`;

/** Parameters: the endpoint; seqs and times of append. */
const SETTLED = `
  select (asked.at - 1)::int as at, d.is_settled from unnest($2::bigint[], $3::timestamptz[]) with ordinality
    as asked(seq, appended_at, at)
  cross join lateral (
    select (${IS_SETTLED}) as is_settled from ${SEEN_DELIVERIES}
    where d.endpoint_id = $1 and ${ANY_STATUS} and d.created_at = asked.appended_at and d.seq = asked.seq limit 1
  ) d`;

/** Moves a watermark over removed events. Parameters: a subscription, its endpoint, the seq. */
const PASS_GAP = `
  with moved as (
    update mcp_subscriptions set watermark_seq = $3, gap_seq = $3, caught_up_seq = greatest(caught_up_seq, $3),
      notice_id = null, notice_attempts = 0, notice_due_at = now()
    where id = $1 and endpoint_id = $2 and watermark_seq < $3 returning id
  ) select id from moved`;

/**
 * Moves the watermarks of subscriptions whose events are in other databases: it reads the events there, and their
 * deliveries after them. Watermarks of databases that are away stay.
 * @returns the number of subscriptions that miss events
 */
async function advanceElsewhere({ query, feed, filters }: Use, keptSince: Date, id: string | null): Promise<number> {
  if (feed.others.length === 0) return 0;
  const live = ((await query(LIVE, [id])) as Omit<Filtered, 'last_seq'>[]).filter((one) => !feed.isInMain(one.org_id));
  let gaps = 0;
  await feed.eachReachable(
    live,
    (one) => one.org_id,
    async (store, some) => {
      const [first] = some;
      // The wall between organizations is also around the feed of the one that refreshes a subscription.
      const read: Query = (sql, parameters) =>
        id === null || first === undefined
          ? store.query(sql, parameters)
          : store.forOrg(first.org_id, (runner) => runner.query(sql, parameters));
      const heads = (await read(HEADS, [
        some.map((one) => one.org_id),
        some.map((one) => one.watermark_seq),
        keptSince,
      ])) as { at: number; last_seq: string; kept_from: string | null }[];
      for (const { at, last_seq, kept_from } of heads) {
        const one = some[at];
        if (one === undefined) continue;
        const from = kept_from ?? last_seq;
        if (seqFromText(from) > seqFromText(one.watermark_seq)) {
          gaps += ((await query(PASS_GAP, [one.id, one.endpoint_id, from])) as unknown[]).length;
        }
        const undelivered = (parameters: unknown[]) => undeliveredElsewhere(read, query, parameters);
        const reached = await settledTo(undelivered, filters, { ...one, watermark_seq: from, last_seq });
        await query(MOVE, [one.id, one.endpoint_id, reached]);
      }
    },
  );
  return gaps;
}

/** @param read asks the database of the feed */
async function undeliveredElsewhere(read: Query, query: Query, parameters: unknown[]): Promise<readonly Undelivered[]> {
  const events = (await read(EVENTS_AFTER, parameters)) as { seq: string; appended_at: Date; envelope: Buffer }[];
  const settled = (await query(SETTLED, [
    parameters[0],
    events.map(({ seq }) => seq),
    events.map((event) => event.appended_at),
  ])) as { at: number; is_settled: boolean }[];
  const isSettled = new Map(settled.map((one) => [one.at, one.is_settled]));
  return events.map(({ seq, envelope }, at) => ({
    seq,
    envelope,
    is_known: isSettled.has(at),
    is_settled: isSettled.get(at) ?? false,
  }));
}

/**
 * Moves the watermark of the subscription.
 * @returns the number of subscriptions that miss events
 */
export async function advanceWatermark(use: Use, keptSince: Date, id: string): Promise<number> {
  const gaps = await advancePage(use.query, keptSince, [id]);
  await advanceFiltered(use, id);
  return gaps + (await advanceElsewhere(use, keptSince, id));
}

/** How to move the watermarks of all subscriptions. */
export interface Pages {
  /** The number of subscriptions that one statement moves. */
  readonly size: number;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Moves the watermarks of all subscriptions, a page of them at a time. A page that fails waits for the next time, and the
 * others move.
 * @returns the number of subscriptions that miss events
 */
export async function advanceWatermarks(use: Use, keptSince: Date, { size, onFailure }: Pages): Promise<number> {
  const { query } = use;
  const attempt = (act: () => Promise<void>) => act().catch(onFailure);
  let gaps = 0;
  for (let page = await pageAfter(query, '', size); page.length > 0;) {
    const ids = page;
    await attempt(async () => {
      gaps += await advancePage(query, keptSince, ids);
    });
    page = await pageAfter(query, ids.at(-1) ?? '', size);
  }
  await attempt(() => advanceFiltered(use, null));
  await attempt(async () => {
    gaps += await advanceElsewhere(use, keptSince, null);
  });
  return gaps;
}

async function pageAfter(query: Query, after: string, size: number): Promise<readonly string[]> {
  return ((await query(PAGE, [after, size])) as { readonly id: string }[]).map(({ id }) => id);
}

/**
 * Moves the watermarks of these subscriptions, as far as the events are in the main database and no filter has to be
 * asked. Gaps come first: an event that is gone is not open any more, so the watermark would pass it in silence.
 * @returns the number of subscriptions that miss events
 */
async function advancePage(query: Query, keptSince: Date, ids: readonly string[]): Promise<number> {
  const found = (await query(FIND_GAPS, [ids, keptSince])) as unknown[];
  await query(ADVANCE, [ids]);
  return found.length;
}
