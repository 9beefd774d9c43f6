import { nextSeq, seqFromText, SEQ_NONE, type EventId, type OrgId, type Seq, type WidgetId } from '#libs/domain';
import { FeedPage, type FeedBounds, type FeedItem } from './feed-page.js';
import { IN_ORDER_OF_INDEX } from '../../in-order-of-index.js';
import type { Store } from '../../connection/store.js';
import { CLOCK_BACK_MS } from '../../projections/days/day-partitions.js';

export interface FeedQuery {
  readonly since: Seq;
  /** 1 … 1000 */
  readonly limit: number;
  /** The last seq to return. */
  readonly until?: Seq;
  /** Only these types; not empty. */
  readonly events?: readonly string[];
  /** Whether the page begins with the newest event. Then `nextSeq` is the `until` of the next page. */
  readonly isDescending?: boolean;
  readonly widgetId?: WidgetId;
  /** The largest size of a page, bytes. A larger event comes alone. Default 8 MiB. */
  readonly maxBytes?: number;
}

/** One event, as it is stored. */
export interface FeedEntry {
  readonly id: EventId;
  readonly appendedAt: Date;
  readonly envelope: Buffer;
}

/** One event with the members that decide who receives it. */
export interface FoundEvent extends FeedEntry {
  readonly seq: Seq;
  readonly event: string;
  readonly widgetId: WidgetId | null;
}

/** Identifies an event across all orgs: `<org id>/<event id>`. */
export type EventKey = `${OrgId}/${EventId}`;

/** The result of looking events up in the feed. */
export interface EventLookUp {
  readonly known: ReadonlySet<EventKey>;
  /** The offset up to which the log is in the feed, by partition. Of a missing partition, nothing is in the feed. */
  readonly projectedTo: ReadonlyMap<number, number>;
}

export function eventKey(orgId: OrgId, id: EventId): EventKey {
  return `${orgId}/${id}`;
}

/** A row with the bounds of the feed and a piece of the page. A page without events has one, of null columns. */
interface FeedPageRow {
  readonly head: string | null;
  readonly oldest: string | null;
  readonly found: number | null;
  readonly served: number | null;
  readonly last: string | null;
  readonly bytes: number | null;
  envelopes: string | null;
  readonly seqs: string | null;
  readonly types: string | null;
}

/** What a statement found for a page. */
interface FoundPage extends Pick<FeedPageRow, 'head' | 'oldest' | 'last'> {
  readonly found: number;
  readonly served: number;
  /** The rows with events that are served, in the order of the page. */
  readonly rows: readonly FeedPageRow[];
}

/** The largest size of a page, bytes, so that it fits into memory. A page that ends early continues at `next_seq`. */
const PAGE_BYTES = 8 * 1024 * 1024;

/**
 * The size of a piece of a page, bytes. Its first event may be larger. A row of megabytes costs the driver four times its size
 * while it comes, and Postgres fresh memory for each page.
 */
const PIECE_BYTES = 48 * 1024;

const DAY_MS = 86_400_000;

/** How many orgs' oldest seqs are remembered. Each takes about 150 bytes. */
const REMEMBERED_ORGS = 50_000;
/** How long reads go on from the seq of the last one. Then one searches for older events, which a rebuild may bring back. */
const REMEMBERED_MS = 60_000;
/** So few events of a day are read one by one. */
const READ_ONE_BY_ONE = 1_000;
/** So many ids of an org are looked up one by one, which takes as long as a list of them. With 500, a list takes half as long. */
const SHORT_LIST = 20;

interface LeastSeq {
  /** Before it, the org has no event that is served. */
  readonly seq: Seq;
  /** The oldest time that was served when the whole feed was searched, epoch milliseconds. */
  readonly searchedMs: number;
}

/**
 * The least seq of the org's first two days: a broker's clock that went back over midnight leaves it in the second one.
 * Only the tables of those days are read. Parameters: org; the least seq that it can be; the oldest time that is served.
 */
function oldestSql(least: string, from: string): string {
  return `
      select min(seq) from (
        select first.seq from feed_days d cross join lateral (
          select seq from events
          where org_id = $1 and seq >= ${least} and appended_at >= ${from}
            and appended_at >= d.day::timestamp at time zone 'UTC'
            and appended_at < (d.day + 1)::timestamp at time zone 'UTC'
          order by seq limit 1
        ) first
        where d.org_id = $1 and d.day >= (${from}::timestamptz at time zone 'UTC')::date
        order by d.day limit 2
      ) days`;
}

/** What the text of a page's statement depends on. */
interface PageShape {
  readonly types: 'any' | 'one' | 'several';
  /** SQL for the widget's id and for the last seq. */
  readonly widget: string | null;
  readonly until: string | null;
  readonly order: 'asc' | 'desc';
}

/** The largest bigint, in SQL. */
const MAX_SEQ = '9223372036854775807';

/** Parameters: org, the oldest time that is served, the least seq that the oldest can be. */
const BOUNDS = `
  select (select last_seq from org_heads where org_id = $1) as head, (${oldestSql('$3::bigint', '$2')}) as oldest`;

/**
 * One statement, so that the page and the bounds are of the same moment. Few rows, because sending a thousand costs more
 * than reading them. It reads one event more than requested to see whether more follow. convert_from avoids hexadecimal
 * text. It begins with the oldest seq and leaves nothing out after it: an event whose time is past retention can follow if
 * a broker's clock went back. No event of a seq is of a day before the first one with that seq or a larger one.
 *
 * With a filter, the events are a range of the one index that has all columns of `key`. Only that index has their order
 * (ADR 26). With `event_type = …`, an index without types has the order of the page too. Statistics that are older than a
 * type make Postgres take it, and read all events of the org. The range is read until the first event `beyond` it. Neither a
 * second bound (before Postgres 18) nor a condition with a subquery ends the scan. Events past retention end it, too: the
 * oldest day may have millions of them.
 * Parameters: org, since, the oldest time that is served, limit, bytes, the least seq that the oldest can be, the types.
 */
function pageSql({ types, widget, until, order }: PageShape): string {
  const stored = (columns: string) => `select seq, event_type, envelope${columns} from events
              where org_id = $1 and appended_at >= (
                select min(day)::timestamp at time zone 'UTC' from feed_days
                where org_id = $1 and last_seq > $2 and last_seq >= (select oldest from bounds)
              )`;
  const isServed = 'seq >= (select oldest from bounds)';
  const key = [...(widget === null ? [] : ['widget_id']), ...(types === 'any' ? [] : ['event_type']), 'seq'];
  const inOrder = key.map((column) => `${column} ${order}`).join(', ');
  const found = (type: string | null) => {
    if (key.length === 1) {
      const upTo = until === null ? '' : `and seq <= ${until}`;
      return `${stored('')} and seq > $2 and ${isServed} ${upTo} order by ${inOrder} limit $4 + 1`;
    }
    const is = (comparison: string, seq: string) =>
      `(${key.join(', ')}) ${comparison} (${[widget, type, seq].filter((value) => value !== null).join(', ')})`;
    const isUntil = is('<=', until ?? MAX_SEQ);
    const [begins, goesOn] =
      order === 'asc'
        ? [is('>', 'greatest($2, (select oldest from bounds) - 1)'), isUntil]
        : [isUntil, is('>', 'greatest($2, $6 - 1)')];
    const beyond = `count(*) filter (where not ${goesOn}) over (order by ${inOrder} rows unbounded preceding) as beyond`;
    return `select * from (
              ${stored(`, widget_id, ${beyond}`)} and ${begins} ${widget === null ? '' : 'and widget_id is not null'}
            ) range
            where beyond < 1 and ${isServed} order by ${inOrder} limit $4 + 1`;
  };
  const several = `select found.* from unnest($7::text[]) as wanted(type)
            cross join lateral (${found('wanted.type')}) found
            order by seq ${order} limit $4 + 1`;
  return `
    with bounds as materialized (
      select
        (select last_seq from org_heads where org_id = $1) as head,
        (${oldestSql('$6::bigint', '$3')}) as oldest
    )
    select bounds.head, bounds.oldest, page.*
    from bounds left join (
      select
        piece,
        count(*)::int as found,
        (count(*) filter (where is_served))::int as served,
        (sum(octet_length(envelope)) filter (where is_served))::int as bytes,
        ${order === 'asc' ? 'max' : 'min'}(seq) filter (where is_served) as last,
        convert_from(string_agg(envelope, '\\x1e' order by seq ${order}) filter (where is_served), 'UTF8') as envelopes,
        string_agg(seq::text, ' ' order by seq ${order}) filter (where is_served) as seqs,
        string_agg(event_type, ' ' order by seq ${order}) filter (where is_served) as types
      from (
        select
          seq, event_type, envelope, place <= $4 and (place = 1 or weight <= $5) as is_served,
          weight / ${PIECE_BYTES} as piece
        from (
          select seq, event_type, envelope, row_number() over w as place, sum(octet_length(envelope)) over w as weight
          from (
            ${types === 'several' ? several : found(types === 'one' ? '$7' : null)}
          ) found
          window w as (order by ${types === 'several' ? `seq ${order}` : inOrder} rows unbounded preceding)
        ) weighed
      ) marked
      group by piece
    ) page on true
    order by page.piece`;
}

/**
 * Returns SQL that finds one event by its `seq` or `event_id`, in the order of the index that begins with it. With `=`, all
 * indexes have that order, and Postgres may read all events of the org.
 */
function oneEvent(columns: string, key: 'seq' | 'event_id', value: string, times: string): string {
  return `select ${columns} from events
    where org_id = $1 and ${key} >= ${value} and ${key} <= ${value} and ${times} order by ${key} limit 1`;
}

const BY_SEQ = oneEvent('event_id, appended_at, envelope', 'seq', '$2', 'appended_at >= $3');
const BY_ID = oneEvent('seq, event_type, widget_id, appended_at, envelope', 'event_id', '$2', 'appended_at >= $3');

/**
 * An index reads a sorted list of ids in one pass, of each day's table. But with statistics of many small orgs, Postgres reads
 * all events of the org instead. So the ids of a short list are looked up one by one, in the order of their index.
 * One statement is one snapshot: an event that is not found is not in the log before these offsets.
 * Parameters: keys, the topic of the log.
 */
const LOOK_UP = `
  with wanted as (
    select split_part(key, '/', 1)::uuid as org_id, array_agg(split_part(key, '/', 2)) as event_ids
    from unnest($1::text[]) as asked(key) group by 1
  )
  select
    (
      select array_agg(org_id || '/' || event_id)
      from (
        select wanted.org_id, found.event_id
        from wanted cross join unnest(event_ids) as one(id)
        cross join lateral (
          select event_id from events
          where org_id = wanted.org_id and event_id >= one.id and event_id <= one.id order by event_id limit 1
        ) found
        where cardinality(event_ids) <= ${SHORT_LIST}
        union all
        select e.org_id, e.event_id
        from wanted join events e on e.org_id = wanted.org_id and e.event_id = any(event_ids)
        where cardinality(event_ids) > ${SHORT_LIST}
      ) stored
    ) as known,
    (
      select string_agg(partition || ':' || next_offset, ' ')
      from projection_offsets where projection = 'feed' and topic = $2
    ) as offsets`;

/**
 * A binary search, because the events of a large org have no index by time. Events are appended in the order of their
 * seq. Every event up to `low` is older, and every event from `high` on is not. Parameters: org, time, after, head.
 */
const SEQ_BEFORE = `
  with recursive search (low, high) as (
    select $3::bigint, $4::bigint + 1
    union all
    select case when is_older then middle else low end, case when is_older then high else middle end
    from search
    cross join lateral (select (low + high) / 2 as middle) half
    cross join lateral (
      select count(*) = 0 as is_older from (${oneEvent('', 'seq', 'middle', 'appended_at >= $2')}) found
    ) looked
    where high - low > 1
  )
  select greatest(max(low), $3) as seq from search`;

/**
 * A binary search in the first day that is served. Without it, a read goes through the events of that day that are past
 * retention, which can be millions. An event counts as older only if it is there: a feed that is being rebuilt lacks
 * some. Parameters: org; the day, and the one after it; the time before which events are certain to be past retention.
 */
const LEAST_SEQ = `
  with recursive search (least, low, high) as (
    select
      0::bigint,
      (select seq from events where org_id = $1 and appended_at >= $2 and appended_at < $3 order by seq limit 1),
      (select seq from events where org_id = $1 and appended_at >= $2 and appended_at < $3 order by seq desc limit 1)
    union all
    select
      case when is_older then middle else least end,
      case when is_older then middle else low end,
      case when is_older then high else middle end
    from search
    cross join lateral (select (low + high) / 2 as middle) half
    cross join lateral (
      select count(*) > 0 as is_older from (
        ${oneEvent('', 'seq', 'middle', 'appended_at >= $2 and appended_at < $4')}
      ) found
    ) looked
    where high - low > ${READ_ONE_BY_ONE}
  )
  select max(least) as seq from search`;

function together(rows: readonly FeedPageRow[]): FoundPage {
  const [first] = rows;
  if (first === undefined) throw new Error('a page without a row');
  const withEvents = rows.filter(({ served }) => (served ?? 0) > 0);
  return {
    head: first.head,
    oldest: first.oldest,
    last: withEvents.at(-1)?.last ?? null,
    found: sumOf(rows, 'found'),
    served: sumOf(rows, 'served'),
    rows: withEvents,
  };
}

function sumOf(rows: readonly FeedPageRow[], column: 'found' | 'served' | 'bytes'): number {
  return rows.reduce((sum, row) => sum + (row[column] ?? 0), 0);
}

/**
 * Takes the envelopes out of the driver's row. V8 keeps the results of statements until it collects the old generation,
 * which the texts of pages would fill soon, again and again.
 */
function taken(row: FeedPageRow): string {
  const { envelopes } = row;
  row.envelopes = null;
  return envelopes ?? '';
}

function marksOf(rows: readonly FeedPageRow[]): readonly Pick<FeedItem, 'seq' | 'event'>[] {
  return rows.flatMap(({ seqs, types }) => {
    const events = types?.split(' ') ?? [];
    return seqs?.split(' ').map((seq, index) => ({ seq: seqFromText(seq), event: events[index] ?? '' })) ?? [];
  });
}

/** Returns the oldest seq. If everything was pruned, it is that of the next event. */
function oldestOf(stored: string | null, headSeq: Seq): Seq {
  if (stored !== null) return seqFromText(stored);
  return headSeq === SEQ_NONE ? SEQ_NONE : nextSeq(headSeq);
}

/** Returns where the next page begins: after the last event, or with the one before it. */
function nextOf(last: Seq, isDescending: boolean): Seq {
  return isDescending ? ((last - 1) as Seq) : last;
}

/** Reads a page from a database. */
type PageRead = (store: Store) => Promise<FoundPage>;

/**
 * Returns the last seq that the page can need; infinity if it may need the newest events. It has one event more than
 * requested, to see whether more follow. With a filter, it may go on to the head.
 */
function pageEnd({ since, until, limit, events = [], widgetId, isDescending = false }: FeedQuery, least: Seq): number {
  if (until !== undefined) return until;
  if (isDescending || events.length > 0 || widgetId !== undefined) return Infinity;
  return Math.max(since, least - 1) + limit + 1;
}

/** Whether events that the database does not have yet cannot change the page, nor which event is the oldest. */
function isFinal(page: FoundPage, { until, isDescending = false }: FeedQuery): boolean {
  if (page.oldest === null) return false;
  const isFull = page.last !== null && page.found > page.served;
  return (isFull && !isDescending) || (until !== undefined && until <= Number(page.head));
}

function forgetOldest(byOrg: Map<OrgId, unknown>): void {
  const [first] = byOrg.keys();
  if (byOrg.size > REMEMBERED_ORGS && first !== undefined) byOrg.delete(first);
}

/** Reads the feed (contract 5.4). */
export class FeedReader {
  /** By org, the least recently read first. */
  readonly #least = new Map<OrgId, LeastSeq>();
  /** The searches that run now. Reads of an org share one. */
  readonly #searches = new Map<OrgId, Promise<LeastSeq>>();
  /** The last known heads, if there are replicas. */
  readonly #heads = new Map<OrgId, Seq>();

  /** @param retentionMs events that were appended longer ago are not served, even if they are still stored */
  constructor(
    private readonly store: Store,
    private readonly retentionMs: number,
  ) {}

  async page(orgId: OrgId, query: FeedQuery, nowMs: number): Promise<FeedPage> {
    const from = new Date(nowMs - this.retentionMs);
    const least = await this.#leastOf(orgId, from);
    const parameters: unknown[] = [orgId, query.since, from, query.limit, query.maxBytes ?? PAGE_BYTES, least.seq];
    const { events = [], widgetId, until, isDescending = false } = query;
    const types = events.length === 0 ? 'any' : events.length === 1 ? 'one' : 'several';
    if (types !== 'any') parameters.push(types === 'one' ? events[0] : events);
    const widget = widgetId === undefined ? null : `$${parameters.push(widgetId)}`;
    const lastSeq = until === undefined ? null : `$${parameters.push(until)}`;
    const order = isDescending ? 'desc' : 'asc';
    const parts = [types, order, ...(widget === null ? [] : ['widget']), ...(lastSeq === null ? [] : ['until'])];
    const name = `feed-page-${parts.join('-')}`;
    const sql = pageSql({ types, widget, until: lastSeq, order });
    const read: PageRead = async (store) =>
      together(await store.preparedForOrg(orgId, name, sql, parameters, IN_ORDER_OF_INDEX));
    const primary = await this.store.feed.of(orgId);
    const page = (await this.#fromReplica(orgId, query, least.seq, nowMs, read)) ?? (await read(primary));
    const { rows, found, served, last, oldest } = page;
    const headSeq = seqFromText(page.head ?? '0');
    this.#noteHead(orgId, headSeq);
    this.#remember(orgId, least, oldest, headSeq);
    return new FeedPage({
      count: served,
      nextSeq: last !== null && found > served ? nextOf(seqFromText(last), isDescending) : null,
      oldestSeq: oldestOf(oldest, headSeq),
      headSeq,
      pieces: rows.map(taken),
      bytes: sumOf(rows, 'bytes'),
      marks: () => marksOf(rows),
    });
  }

  /**
   * Reads a page of older events from a replica, and the head from the primary at the same time. The log only grows, so
   * a page that ends below the last event of the replica is the same in both.
   * @returns `undefined` if the page has to come from the primary
   */
  async #fromReplica(
    orgId: OrgId,
    query: FeedQuery,
    least: Seq,
    nowMs: number,
    read: PageRead,
  ): Promise<FoundPage | undefined> {
    const { feed, replicas } = this.store;
    if (replicas.all.length === 0 || pageEnd(query, least) > (this.#heads.get(orgId) ?? SEQ_NONE)) return undefined;
    const replica = replicas.of(feed.placeOf(orgId), nowMs);
    if (replica === undefined) return undefined;
    const [page, head] = await Promise.all([
      replicas.read(replica, read, (found) => isFinal(found, query)),
      feed.head(orgId),
    ]);
    // The replica may have got events after the primary was asked.
    return page ? { ...page, head: String(Math.max(Number(head), Number(page.head))) } : undefined;
  }

  /** Remembers the head of the org: it says which pages have older events only. */
  #noteHead(orgId: OrgId, headSeq: Seq): void {
    if (this.store.replicas.all.length === 0) return;
    this.#heads.delete(orgId);
    this.#heads.set(orgId, headSeq);
    forgetOldest(this.#heads);
  }

  /** Returns the event of that seq; `undefined` if it is not there yet, or past retention. */
  async find(orgId: OrgId, seq: Seq, nowMs: number): Promise<FeedEntry | undefined> {
    const feed = await this.store.feed.of(orgId);
    const [row] = await feed.preparedForOrg<{ event_id: EventId; appended_at: Date; envelope: Buffer }>(
      orgId,
      'feed-event-by-seq',
      BY_SEQ,
      [orgId, seq, new Date(nowMs - this.retentionMs)],
      IN_ORDER_OF_INDEX,
    );
    return row === undefined ? undefined : { id: row.event_id, appendedAt: row.appended_at, envelope: row.envelope };
  }

  /** Returns the event of that id; `undefined` if it is not there, or past retention. */
  async findById(orgId: OrgId, id: EventId, nowMs: number): Promise<FoundEvent | undefined> {
    const feed = await this.store.feed.of(orgId);
    const [row] = await feed.preparedForOrg<{
      seq: string;
      event_type: string;
      widget_id: WidgetId | null;
      appended_at: Date;
      envelope: Buffer;
    }>(orgId, 'feed-event-by-id', BY_ID, [orgId, id, new Date(nowMs - this.retentionMs)], IN_ORDER_OF_INDEX);
    if (row === undefined) return undefined;
    return {
      id,
      seq: seqFromText(row.seq),
      event: row.event_type,
      widgetId: row.widget_id,
      appendedAt: row.appended_at,
      envelope: row.envelope,
    };
  }

  /** Returns the bounds of the org's feed, without a page. */
  async bounds(orgId: OrgId, nowMs: number): Promise<FeedBounds> {
    const from = new Date(nowMs - this.retentionMs);
    const least = await this.#leastOf(orgId, from);
    const feed = await this.store.feed.of(orgId);
    const [row] = await feed.preparedForOrg<{ head: string | null; oldest: string | null }>(
      orgId,
      'feed-bounds',
      BOUNDS,
      [orgId, from, least.seq],
      IN_ORDER_OF_INDEX,
    );
    const headSeq = seqFromText(row?.head ?? '0');
    this.#remember(orgId, least, row?.oldest ?? null, headSeq);
    return { headSeq, oldestSeq: oldestOf(row?.oldest ?? null, headSeq) };
  }

  /** Returns a seq before which the org has no event from that time on. */
  #leastOf(orgId: OrgId, from: Date): LeastSeq | Promise<LeastSeq> {
    const known = this.#least.get(orgId);
    const age = from.getTime() - (known?.searchedMs ?? 0);
    if (known !== undefined && age >= 0 && age < REMEMBERED_MS) return known;
    this.#least.delete(orgId);
    const other = this.#searches.get(orgId);
    if (other !== undefined) return other;
    const search = this.#search(orgId, from.getTime()).finally(() => this.#searches.delete(orgId));
    this.#searches.set(orgId, search);
    return search;
  }

  async #search(orgId: OrgId, fromMs: number): Promise<LeastSeq> {
    const feed = await this.store.feed.of(orgId);
    const dayMs = fromMs - (fromMs % DAY_MS);
    const times = [dayMs, dayMs + DAY_MS, fromMs - CLOCK_BACK_MS].map((ms) => new Date(ms));
    const parameters = [orgId, ...times];
    const [row] = await feed.preparedForOrg<{ seq: string }>(
      orgId,
      'feed-least-seq',
      LEAST_SEQ,
      parameters,
      IN_ORDER_OF_INDEX,
    );
    return { seq: seqFromText(row?.seq ?? '0'), searchedMs: fromMs };
  }

  #remember(orgId: OrgId, { seq, searchedMs }: LeastSeq, oldest: string | null, headSeq: Seq): void {
    // Another read may have searched meanwhile.
    if ((this.#least.get(orgId)?.searchedMs ?? 0) > searchedMs) return;
    this.#least.delete(orgId);
    // The feed is being rebuilt: events from before that seq come back.
    if (oldest === null && headSeq < seq) return;
    // If all events are past retention, those that come next are after the head, so after that seq.
    this.#least.set(orgId, { seq: oldest === null ? seq : seqFromText(oldest), searchedMs });
    forgetOldest(this.#least);
  }

  /**
   * Returns the seq after which the org's events were appended at that time or later. It looks between two seqs, of
   * which the later one may be the head.
   * @returns at least `after`, at most `head`
   */
  async seqBefore(orgId: OrgId, appendedAt: Date, after: Seq, head: Seq): Promise<Seq> {
    const feed = await this.store.feed.of(orgId);
    const parameters = [orgId, appendedAt, after, head];
    const [row] = await feed.preparedForOrg<{ seq: string }>(
      orgId,
      'feed-seq-before',
      SEQ_BEFORE,
      parameters,
      IN_ORDER_OF_INDEX,
    );
    return seqFromText(row?.seq ?? String(after));
  }

  /** Groups things by the place of the database that holds their org's feed. */
  groups<T extends { readonly orgId: OrgId }>(things: readonly T[]): readonly (readonly [number, readonly T[]])[] {
    return [...this.store.feed.group(things, ({ orgId }) => orgId)].map(([{ place }, some]) => [place, some]);
  }

  /** @throws FeedServerAwayError when the feed of one of the orgs cannot be read now */
  async assertReachable(orgIds: Iterable<OrgId>): Promise<void> {
    for (const orgId of orgIds) await this.store.feed.of(orgId);
  }

  /** Looks up events in the feed; `eventKey` makes their keys. */
  async lookUp(keys: readonly EventKey[], logTopic: string): Promise<EventLookUp> {
    const found = await this.store.feed.each(keys, orgIdOf, (store, some) => lookUpIn(store, some, logTopic));
    if (found.length === 1 && found[0] !== undefined) return found[0];
    return {
      known: new Set(found.flatMap(({ known }) => [...known])),
      projectedTo: new Map(found.flatMap(({ projectedTo }) => [...projectedTo])),
    };
  }
}

function orgIdOf(key: EventKey): OrgId {
  return key.slice(0, key.indexOf('/')) as OrgId;
}

async function lookUpIn(store: Store, keys: readonly EventKey[], logTopic: string): Promise<EventLookUp> {
  const [row] = await store.prepared<{ known: EventKey[] | null; offsets: string | null }>('look_up_events', LOOK_UP, [
    keys,
    logTopic,
  ]);
  const offsets = (row?.offsets ?? '').split(' ').filter((text) => text !== '');
  return {
    known: new Set(row?.known ?? []),
    projectedTo: new Map(offsets.map((text) => text.split(':').map(Number) as [number, number])),
  };
}
