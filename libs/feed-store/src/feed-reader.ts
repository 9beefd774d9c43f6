import { nextSeq, seqFromText, SEQ_NONE, type EventId, type OrgId, type Seq, type WidgetId } from '#libs/domain';
import type { Store } from './store.js';

export interface FeedQuery {
  readonly since: Seq;
  /** 1 … 1000 */
  readonly limit: number;
  readonly event?: string;
  readonly widgetId?: WidgetId;
}

/** An event as the feed serves it. */
export interface FeedItem {
  readonly seq: Seq;
  readonly event: string;
  /** The envelope's JSON text: the stored bytes, untouched. */
  readonly envelope: string;
}

/** Of the oldest and the newest event that the org has in the feed; 0 without events. */
export interface FeedBounds {
  readonly oldestSeq: Seq;
  readonly headSeq: Seq;
}

/** A page of the feed, ascending by seq. */
export interface FeedPage extends FeedBounds {
  readonly items: readonly FeedItem[];
  /** Where the next page begins; `null` when there are no more matching events. */
  readonly nextSeq: Seq | null;
}

/** One event, as it is stored. */
export interface FeedEntry {
  readonly id: EventId;
  readonly appendedAt: Date;
  readonly envelope: Buffer;
}

/** Names an event among those of all orgs: `<org id>/<event id>`. */
export type EventKey = `${OrgId}/${EventId}`;

export function eventKey(orgId: OrgId, id: EventId): EventKey {
  return `${orgId}/${id}`;
}

interface FoundEvent {
  readonly seq: string;
  readonly event_type: string;
  readonly matching: string;
  readonly envelope: string;
}

/** The bounds stand in every row, and in a row of their own when nothing was found. */
type FeedRow = { readonly head: string | null; readonly oldest: string | null } & (
  FoundEvent | { readonly seq: null; readonly event_type: null; readonly matching: null; readonly envelope: null }
);

/** What a page may weigh: it ends early rather than hold a whole process' memory; `next_seq` then goes on behind it. */
const PAGE_BYTES = 8 * 1024 * 1024;

/** With everything pruned, the next event will be the oldest. */
function oldestOf(stored: string | null, headSeq: Seq): Seq {
  if (stored !== null) return seqFromText(stored);
  return headSeq === SEQ_NONE ? SEQ_NONE : nextSeq(headSeq);
}

/** Reads the feed (spec 4.2). */
export class FeedReader {
  /** @param retentionMs events appended longer ago are not served, whether or not they are pruned yet */
  constructor(
    private readonly store: Store,
    private readonly retentionMs: number,
  ) {}

  async page(orgId: OrgId, query: FeedQuery, nowMs: number): Promise<FeedPage> {
    const from = new Date(nowMs - this.retentionMs);
    const parameters: unknown[] = [orgId, query.since, from, query.limit + 1, PAGE_BYTES];
    const filters: string[] = [];
    if (query.event !== undefined) filters.push(`and event_type = $${parameters.push(query.event)}`);
    if (query.widgetId !== undefined) filters.push(`and widget_id = $${parameters.push(query.widgetId)}`);
    // One statement, so that the page and the bounds are of the same moment. One event more than asked for tells
    // whether there are more; convert_from hands text over without hex.
    const rows = await this.store.forOrg(
      orgId,
      async (runner) =>
        (await runner.query(
          `select bounds.head, bounds.oldest, page.seq, page.event_type, page.matching,
             convert_from(page.envelope, 'UTF8') as envelope
           from (
             select
               (select last_seq from org_heads where org_id = $1) as head,
               (select seq from events where org_id = $1 and appended_at >= $3 order by seq limit 1) as oldest
           ) bounds
           left join (
             select seq, event_type, envelope,
               row_number() over (order by seq) as place,
               count(*) over () as matching,
               sum(octet_length(envelope)) over (order by seq) as weight
             from (
               select seq, event_type, envelope from events
               where org_id = $1 and seq > $2 and appended_at >= $3 ${filters.join(' ')}
               order by seq limit $4
             ) found
           ) page on page.place = 1 or page.weight <= $5
           order by page.seq`,
          parameters,
        )) as FeedRow[],
    );
    const found = rows.filter((row): row is FeedRow & FoundEvent => row.seq !== null);
    const served = found.slice(0, query.limit);
    const last = served.at(-1);
    const headSeq = seqFromText(rows[0]?.head ?? '0');
    return {
      items: served.map((row) => ({ seq: seqFromText(row.seq), event: row.event_type, envelope: row.envelope })),
      nextSeq: last !== undefined && Number(last.matching) > served.length ? seqFromText(last.seq) : null,
      oldestSeq: oldestOf(rows[0]?.oldest ?? null, headSeq),
      headSeq,
    };
  }

  /** The event of that seq; `undefined` for one that is not there yet, or past retention. */
  async find(orgId: OrgId, seq: Seq, nowMs: number): Promise<FeedEntry | undefined> {
    return this.store.forOrg(orgId, async (runner) => {
      const [row] = (await runner.query(
        'select event_id, appended_at, envelope from events where org_id = $1 and seq = $2 and appended_at >= $3',
        [orgId, seq, new Date(nowMs - this.retentionMs)],
      )) as { event_id: EventId; appended_at: Date; envelope: Buffer }[];
      return row === undefined ? undefined : { id: row.event_id, appendedAt: row.appended_at, envelope: row.envelope };
    });
  }

  /** Without a page: between which events the org's feed lies. */
  async bounds(orgId: OrgId, nowMs: number): Promise<FeedBounds> {
    const [row] = await this.store.forOrg(
      orgId,
      async (runner) =>
        (await runner.query(
          `select
             (select last_seq from org_heads where org_id = $1) as head,
             (select seq from events where org_id = $1 and appended_at >= $2 order by seq limit 1) as oldest`,
          [orgId, new Date(nowMs - this.retentionMs)],
        )) as { head: string | null; oldest: string | null }[],
    );
    const headSeq = seqFromText(row?.head ?? '0');
    return { headSeq, oldestSeq: oldestOf(row?.oldest ?? null, headSeq) };
  }

  /** Which of the events the feed holds already; each is named as `eventKey` does. */
  async known(keys: readonly EventKey[]): Promise<ReadonlyMap<EventKey, true>> {
    const rows = await this.store.query<{ org_id: OrgId; event_id: EventId }>(
      `select e.org_id, e.event_id
       from (
         select distinct split_part(key, '/', 1)::uuid as org_id, split_part(key, '/', 2) as event_id
         from unnest($1::text[]) as wanted(key)
       ) wanted
       join events e on e.org_id = wanted.org_id and e.event_id = wanted.event_id`,
      [keys],
    );
    return new Map(rows.map((row) => [eventKey(row.org_id, row.event_id), true]));
  }
}
