import { setImmediate } from 'node:timers/promises';
import {
  deliveryIdOf,
  EXAMPLE_ID_BEGINNING,
  filteredReception,
  GaplessError,
  isReceived,
  seqFromText,
  type EndpointId,
  type EventFilters,
  type EventId,
  type OrgId,
  type Seq,
  type Subscriber,
  type WidgetId,
} from '#libs/domain';
import { ANY_STATUS, seen, SEEN_DELIVERIES } from '../../projections/seen-deliveries.js';
import { IN_ORDER_OF_INDEX } from '../../in-order-of-index.js';
import type { Store } from '../../connection/store.js';
import { lastAttemptEnd } from '../latest-attempts.js';
import { pendingOf } from '../pending-of.js';

/**
 * Which deliveries to recover: `failed` ones, events that the endpoint `missed` while it was inactive, or events that
 * match what it is subscribed to now and were `never_sent` to it.
 */
export const RECOVERY_KINDS = ['failed', 'missed', 'never_sent'] as const;

export type RecoveryKind = (typeof RECOVERY_KINDS)[number];

/** What can be looked for: also `pending` deliveries, which need no recovery. */
export type UndeliveredKind = RecoveryKind | 'pending';

/** The events to look at: by seq (greater than `sinceSeq`) or by time of append. */
export interface RecoveryRange {
  readonly sinceSeq: Seq | null;
  readonly since: Date | null;
  /** Only events that were appended before this time. */
  readonly until: Date | null;
  /** The last seq; `null` for the end of the feed. */
  readonly throughSeq: Seq | null;
}

/** An event to deliver (again), or one that is pending. */
export interface Recoverable {
  readonly kind: UndeliveredKind;
  readonly eventId: EventId;
  readonly event: string;
  readonly seq: Seq;
  readonly createdAtMs: number;
  /** `DeliveryRef.previousSeq` of the delivery. */
  readonly previousSeq: number | null;
  /** The delivery's current run; 0 for a missed event. */
  readonly run: number;
  /** When the last attempt ended, by the delivery log's times; `null` without one. */
  readonly lastAttemptEndMs: number | null;
  readonly envelope: Buffer;
}

/** When events are looked at. */
export interface LookTime {
  readonly nowMs: number;
  /** What was appended before this time is routed: routing sends none of it any more. */
  readonly routedBeforeMs: number;
}

/**
 * Routing reads the endpoint shortly after the append. So an event from just before the endpoint became inactive may
 * have missed it. Events with a delivery do not count, so looking further back is safe. And an event without a delivery
 * may still get one by routing, unless it is older.
 */
export const ROUTING_DELAY_MS = 60_000;

/** The most events that one statement looks at, even if few can be recovered. It takes well under a second. */
const EVENTS_LOOKED_AT = 5_000;

/** The largest size of a page, bytes. A larger event comes alone. */
const PAGE_BYTES = 8 * 1024 * 1024;

/** The most events of a page that the endpoint's filter is asked about before they count as undecided. */
const UNDECIDED_ASKED = 200;

/** Filters that are evaluated before other requests run. */
const FILTERED_AT_ONCE = 10;

/** Whether an event without a delivery may be for the endpoint. Examples are only for the one that they were sent to. */
const IS_SUBSCRIBED = `e.event_type = any($7) and not starts_with(e.event_id, '${EXAMPLE_ID_BEGINNING}')
  and ($8::uuid[] is null or e.widget_id is null or e.widget_id = any($8))`;

/**
 * Whether the event came while the endpoint was inactive, by seq or by time, or within an interval before. Periods follow
 * one another, so only the first one that ended after the event can have it. An endpoint can have very many.
 */
const wasInactive = (before: string) => `exists (
          select from endpoints n
          cross join lateral (
            (select * from endpoint_inactive_periods where endpoint_id = n.id and ended_after_seq >= e.seq
             order by ended_after_seq, activation limit 1)
            union all
            (select * from endpoint_inactive_periods where endpoint_id = n.id and ended_at > e.appended_at
             order by ended_at limit 1)
            union all
            (select * from endpoint_inactive_periods where endpoint_id = n.id and ended_at is null)
          ) p
          where n.id = $2 and (
            e.seq > p.began_after_seq and e.seq <= p.ended_after_seq
            or e.appended_at < coalesce(p.ended_at, 'infinity')
              and e.appended_at >= greatest(p.began_at - ${before}, n.created_at)
          )
        )`;

const ROUTING_DELAY = `interval '${ROUTING_DELAY_MS} ms'`;

/** Whether the event was missed for that. One from before a period counts only once routing cannot send it any more. */
const WAS_INACTIVE = wasInactive(`case when e.appended_at < $11 then ${ROUTING_DELAY} else interval '0' end`);

/**
 * Whether the event came just after the endpoint was enabled. A period ends when the request comes, and the router reads
 * the endpoint as inactive until the request is stored. So it may have left the event out, or may still route it.
 */
const CAME_AS_ENABLED = `exists (
          select from endpoint_inactive_periods
          where endpoint_id = $2 and ended_at <= e.appended_at
            and ended_at > e.appended_at - ${ROUTING_DELAY}
        )`;

/** The events to look at. Parameters: org; the seq before them, their times, and the last seq. */
const LOOKED_AT = (after: string, from: string, until: string, through: string) => `
    select seq, appended_at, event_id, event_type, widget_id from events
    where org_id = $1 and seq > ${after} and appended_at >= ${from} and appended_at < ${until} and seq <= ${through}
    order by seq limit ${EVENTS_LOOKED_AT}`;

/** Events that another database has, from one JSON array. */
const GIVEN = `
    select (event->>'seq')::bigint as seq, (event->>'appended_at')::timestamptz as appended_at, event->>'event_id' as event_id,
      event->>'event_type' as event_type, (event->>'widget_id')::uuid as widget_id
    from json_array_elements($3::json) as given(event)`;

/**
 * Returns at least one row, which says how far the statement looked. Parameters: org, endpoint; kinds ($6), the
 * endpoint's events and widgets, the limit, the time before which events were routed ($11); others as in `LOOKED_AT`.
 */
const pageSql = (lookedAt: string, envelope: string) => `
  with looked_at as materialized (${lookedAt}
  ), found as (
    select coalesce(d.status, 'missed') as kind, e.event_id, e.event_type, e.seq, e.appended_at,
      coalesce(d.run, 0) as run, d.previous_seq, d.id as delivery_id
    from looked_at e
    left join lateral (
      select d.id, d.run, d.previous_seq, ${seen('status')} as status from ${SEEN_DELIVERIES}
      where d.endpoint_id = $2 and ${ANY_STATUS} and d.created_at = e.appended_at and d.seq = e.seq limit 1
    ) d on true
    where d.status = any($6)
      or ('missed' = any($6) or 'never_sent' = any($6)) and d.run is null and ${IS_SUBSCRIBED}
        and ('never_sent' = any($6) and (
          e.appended_at < $11 or e.seq <= (select receives_after_seq from endpoints where id = $2)
        ) or ${WAS_INACTIVE} or e.appended_at < $11 and ${CAME_AS_ENABLED})
    order by e.seq limit $9
  )
  select page.*, (${lastAttemptEnd('page.delivery_id', 'page.appended_at')}) as last_attempt_end
  from (
    select looked.looked_at, looked.last_seq, case when row_number() over w = 1 then looked.undecided end as undecided,
      found.*, stored.envelope, count(found.seq) over ()::int as found, row_number() over w as place,
      sum(octet_length(stored.envelope)) over w as weight
    from (
      select count(*)::int as looked_at, max(seq) as last_seq, (
        select json_agg(json_build_object('seq', seq::text, 'appended_at', appended_at) order by seq) from (
          select seq, appended_at from looked_at e
          where e.appended_at >= $11 and ${IS_SUBSCRIBED}
            and ('never_sent' = any($6) and e.seq > (select receives_after_seq from endpoints where id = $2)
              or 'missed' = any($6) and (${CAME_AS_ENABLED} or ${wasInactive(ROUTING_DELAY)}) and not ${WAS_INACTIVE})
            and not exists (
              select from deliveries d
              where d.endpoint_id = $2 and ${ANY_STATUS} and d.created_at = e.appended_at and d.seq = e.seq
            )
          order by e.seq limit ${UNDECIDED_ASKED}
        ) candidates
      ) as undecided
      from looked_at
    ) looked
    left join found on true
    left join lateral (${envelope}) stored on true
    window w as (order by found.seq)
  ) page
  where seq is null or place = 1 or weight <= ${PAGE_BYTES}
  order by seq`;

const PAGE = pageSql(
  LOOKED_AT('$3', '$4', '$5', '$10'),
  'select envelope from events where org_id = $1 and seq = found.seq and appended_at = found.appended_at limit 1',
);

/** For events of another database. Their envelopes come later. It names parameters that it does not need. */
const PAGE_OF_GIVEN = pageSql(
  `${GIVEN} where $1::uuid is not null and $4::text is null and $5::text is null and $10::text is null order by seq`,
  `select ''::bytea as envelope`,
);

/** Parameters: org, seqs, times of append in milliseconds. */
const ENVELOPES = `
  select seq, envelope from (
    select e.seq, e.envelope, row_number() over w as place, sum(octet_length(e.envelope)) over w as weight
    from unnest($2::bigint[], $3::timestamptz[]) as asked(seq, appended_at)
    cross join lateral (
      select seq, envelope from events
      where org_id = $1 and seq = asked.seq and appended_at >= asked.appended_at
        and appended_at < asked.appended_at + interval '1 ms'
      limit 1
    ) e
    window w as (order by e.seq)
  ) weighed
  where place = 1 or weight <= ${PAGE_BYTES}`;

interface PlacedEvent {
  readonly seq: string;
  readonly appended_at: Date | string;
}

interface Looked {
  readonly looked_at: number;
  readonly last_seq: string | null;
  /** In the first row: the first events without a delivery that routing may still send, whatever the filter says. */
  readonly undecided: readonly PlacedEvent[] | null;
  /** How many events were found, of which the page may have fewer. */
  readonly found: number;
}

interface FoundRow extends Looked {
  readonly kind: UndeliveredKind;
  readonly event_id: EventId;
  readonly event_type: string;
  readonly seq: string;
  readonly appended_at: Date;
  readonly previous_seq: string | null;
  readonly run: number;
  readonly last_attempt_end: Date | null;
  readonly envelope: Buffer;
}

type Row = FoundRow | (Looked & { readonly seq: null });

/** The parameters $3, $4, $5 and $10 of a page, and the others after $2. */
type Bounds = readonly [unknown, unknown, unknown, unknown];
type Rest = readonly [unknown, unknown, unknown, unknown, unknown];

function pageParameters([after, from, until, through]: Bounds, [kinds, events, widgets, limit, routed]: Rest) {
  return [after, from, until, kinds, events, widgets, limit, through, routed];
}

/** The result of one look, in seq order. */
export interface RecoveryPage {
  readonly events: readonly Recoverable[];
  /** The seq after which to continue; `null` when nothing is left. */
  readonly next: Seq | null;
  /** The first event without a delivery that routing may still send; `null` without one. */
  readonly firstUndecided: Seq | null;
}

/** Finds the events that an endpoint can recover, in seq order. */
export class RecoverySource {
  /** @param retentionMs events that were appended longer ago are not found, even if they are still stored */
  constructor(
    private readonly store: Store,
    private readonly retentionMs: number,
    private readonly filters: EventFilters,
  ) {}

  /**
   * @param after the seq after which to continue; a page has at most `limit` events, and may be empty before the end
   */
  async page(
    orgId: OrgId,
    endpoint: Subscriber,
    kinds: readonly UndeliveredKind[],
    range: RecoveryRange,
    after: Seq,
    limit: number,
    { nowMs, routedBeforeMs }: LookTime,
  ): Promise<RecoveryPage> {
    const keptSinceMs = nowMs - this.retentionMs;
    const bounds = [
      Math.max(after, range.sinceSeq ?? 0),
      new Date(Math.max(keptSinceMs, range.since?.getTime() ?? keptSinceMs)),
      range.until ?? 'infinity',
      range.throughSeq ?? Number.MAX_SAFE_INTEGER,
    ] as const;
    const rest = [
      kinds,
      endpoint.events,
      endpoint.widgetIds satisfies readonly WidgetId[] | null,
      limit,
      new Date(routedBeforeMs),
    ] as const;
    await this.store.feed.settled();
    const rows = await (this.store.feed.isInMain(orgId)
      ? this.#look(orgId, PAGE, [orgId, endpoint.id, ...pageParameters(bounds, rest)])
      : this.#lookElsewhere(orgId, endpoint.id, bounds, rest));
    const [first] = rows;
    const found = rows.filter((row): row is FoundRow => row.seq !== null);
    const lastFound = found.at(-1);
    const firstUndecided = await this.#firstMatched(orgId, first?.undecided ?? [], endpoint);
    const events = await this.#matched(found, endpoint);
    const isCut = found.length === limit || found.length < (first?.found ?? 0);
    if (isCut && lastFound !== undefined) {
      return { events, next: seqFromText(lastFound.seq), firstUndecided };
    }
    const isEnd = first === undefined || first.looked_at < EVENTS_LOOKED_AT || first.last_seq === null;
    return { events, next: isEnd ? null : seqFromText(first.last_seq), firstUndecided };
  }

  async #look(orgId: OrgId, sql: string, parameters: readonly unknown[]): Promise<readonly Row[]> {
    return this.store.forOrg(orgId, async (runner) => (await runner.query(sql, [...parameters])) as Row[]);
  }

  /** Reads the events in their own database before their deliveries, and the envelopes of those that are found last. */
  async #lookElsewhere(orgId: OrgId, endpointId: EndpointId, bounds: Bounds, rest: Rest): Promise<readonly Row[]> {
    const feed = await this.store.feed.of(orgId);
    const [given] = await feed.forOrg(
      orgId,
      async (runner) =>
        (await runner.query(
          `select coalesce(json_agg(e), '[]')::text as events from (${LOOKED_AT('$2', '$3', '$4', '$5')}) e`,
          [orgId, ...bounds],
        )) as { events: string }[],
    );
    const asGiven = [given?.events ?? '[]', null, null, null] as const;
    const rows = await this.#look(orgId, PAGE_OF_GIVEN, [orgId, endpointId, ...pageParameters(asGiven, rest)]);
    const found = rows.filter((row): row is FoundRow => row.seq !== null);
    if (found.length === 0) return rows;
    const envelopes = await this.#envelopes(feed, orgId, found);
    if (envelopes.size === 0) {
      throw new GaplessError('unavailable', 'Retention has just removed these events. Try again.');
    }
    const undecided = rows[0]?.undecided ?? null;
    return found.flatMap((row) => {
      const envelope = envelopes.get(row.seq);
      return envelope === undefined ? [] : [{ ...row, undecided, envelope }];
    });
  }

  /** Returns the envelopes of events by seq: those of the first ones that a page has room for. */
  async #envelopes(feed: Store, orgId: OrgId, events: readonly PlacedEvent[]): Promise<ReadonlyMap<string, Buffer>> {
    const parameters = [orgId, events.map(({ seq }) => seq), events.map((event) => event.appended_at)];
    const rows = await feed.forOrg(
      orgId,
      async (runner) => (await runner.query(ENVELOPES, parameters)) as { seq: string; envelope: Buffer }[],
    );
    return new Map(rows.map(({ seq, envelope }) => [seq, envelope]));
  }

  /**
   * Returns the first of the events that the endpoint's filter does not leave out. If it leaves out as many as are asked
   * about, that is the last one: the next look goes on from there.
   */
  async #firstMatched(
    orgId: OrgId,
    events: readonly PlacedEvent[],
    { filter = null }: Subscriber,
  ): Promise<Seq | null> {
    const last = events.length === UNDECIDED_ASKED ? events.at(-1) : undefined;
    for (let left = events; left[0] !== undefined;) {
      const seq = seqFromText(left[0].seq);
      if (filter === null) return seq;
      const envelopes = await this.#envelopes(await this.store.feed.of(orgId), orgId, left);
      // It was removed meanwhile, or nothing is known about it.
      if (envelopes.size === 0) return seq;
      const read = left.findLastIndex((event) => envelopes.has(event.seq)) + 1;
      for (const [index, event] of left.slice(0, read).entries()) {
        // Lets other requests run.
        if (index % FILTERED_AT_ONCE === FILTERED_AT_ONCE - 1) await setImmediate();
        const envelope = envelopes.get(event.seq);
        if (envelope !== undefined && isReceived(filteredReception(filter, envelope, this.filters))) {
          return seqFromText(event.seq);
        }
      }
      left = left.slice(read);
    }
    return last === undefined ? null : seqFromText(last.seq);
  }

  /** Leaves out missed events that the endpoint's filter leaves out. A delivery has passed the filter. */
  async #matched(found: readonly FoundRow[], { filter = null }: Subscriber): Promise<readonly Recoverable[]> {
    const matched: Recoverable[] = [];
    for (const [index, row] of found.entries()) {
      // Lets other requests run.
      if (filter !== null && index % FILTERED_AT_ONCE === FILTERED_AT_ONCE - 1) await setImmediate();
      const isFor = row.kind !== 'missed' || isReceived(filteredReception(filter, row.envelope, this.filters));
      if (isFor) matched.push(toRecoverable(row));
    }
    return matched;
  }

  /** Returns how many deliveries of the endpoint are pending, at most 10,000. */
  async pending(orgId: OrgId, endpointId: EndpointId): Promise<number> {
    return this.store.forOrg(orgId, async (runner) => {
      await runner.query(IN_ORDER_OF_INDEX);
      const [row] = (await runner.query(`select pending from ${pendingOf('$1')} waiting`, [endpointId])) as {
        pending: number;
      }[];
      return row?.pending ?? 0;
    });
  }
}

function toRecoverable(row: FoundRow): Recoverable {
  return {
    kind: row.kind,
    eventId: row.event_id,
    event: row.event_type,
    seq: seqFromText(row.seq),
    createdAtMs: row.appended_at.getTime(),
    previousSeq: row.previous_seq === null ? null : Number(row.previous_seq),
    run: row.run,
    lastAttemptEndMs: row.last_attempt_end?.getTime() ?? null,
    envelope: row.envelope,
  };
}

/** Returns the delivery that recovers the event. */
export function recoveredDelivery(orgId: OrgId, endpointId: EndpointId, event: Recoverable) {
  return {
    deliveryId: deliveryIdOf(event.eventId, endpointId),
    endpointId,
    orgId,
    eventId: event.eventId,
    event: event.event,
    seq: event.seq,
    createdAtMs: event.createdAtMs,
    previousSeq: event.previousSeq,
  };
}
