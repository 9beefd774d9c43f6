import { nextSeq, seqFromText, SEQ_NONE, type EventId, type OrgId, type Seq, type WidgetId } from '#libs/domain';
import type { Store } from './store.js';

export interface FeedQuery {
  readonly since: Seq;
  /** 1 … 1000 */
  readonly limit: number;
  readonly event?: string;
  readonly widgetId?: WidgetId;
}

/** A page of the feed: the stored bytes, untouched. */
export interface FeedPage {
  /** Each one an envelope's JSON text. */
  readonly envelopes: readonly string[];
  /** Where the next page begins; `null` when there are no more matching events. */
  readonly nextSeq: Seq | null;
  /** Of the oldest and the newest event that the org has in the feed; 0 without events. */
  readonly oldestSeq: Seq;
  readonly headSeq: Seq;
}

/** What a page may weigh: it ends early rather than hold a whole process' memory; `next_seq` then goes on behind it. */
const PAGE_BYTES = 8 * 1024 * 1024;

/** Reads the feed (spec 4.2). */
export class FeedReader {
  /** @param retentionMs events appended longer ago are not served, whether or not they are pruned yet */
  constructor(
    private readonly store: Store,
    private readonly retentionMs: number,
  ) {}

  async page(orgId: OrgId, query: FeedQuery, nowMs: number): Promise<FeedPage> {
    const from = new Date(nowMs - this.retentionMs);
    const { rows, bounds } = await this.store.forOrg(orgId, async (runner) => {
      const parameters: unknown[] = [orgId, query.since, from, query.limit + 1, PAGE_BYTES];
      const filters: string[] = [];
      if (query.event !== undefined) filters.push(`and event_type = $${parameters.push(query.event)}`);
      if (query.widgetId !== undefined) filters.push(`and widget_id = $${parameters.push(query.widgetId)}`);
      // One event more than asked for tells whether there are more; convert_from hands text over without hex.
      const page = (await runner.query(
        `select seq, convert_from(envelope, 'UTF8') as envelope, matching
         from (
           select seq, envelope,
             row_number() over (order by seq) as place,
             count(*) over () as matching,
             sum(octet_length(envelope)) over (order by seq) as weight
           from (
             select seq, envelope from events
             where org_id = $1 and seq > $2 and appended_at >= $3 ${filters.join(' ')}
             order by seq limit $4
           ) found
         ) weighed
         where place = 1 or weight <= $5
         order by seq`,
        parameters,
      )) as { seq: string; envelope: string; matching: string }[];
      const [found] = (await runner.query(
        `select
           (select last_seq from org_heads where org_id = $1) as head,
           (select seq from events where org_id = $1 and appended_at >= $2 order by seq limit 1) as oldest`,
        [orgId, from],
      )) as { head: string | null; oldest: string | null }[];
      return { rows: page, bounds: found };
    });
    const served = rows.slice(0, query.limit);
    const last = served.at(-1);
    const headSeq = bounds?.head == null ? SEQ_NONE : seqFromText(bounds.head);
    return {
      envelopes: served.map((row) => row.envelope),
      nextSeq: last !== undefined && Number(last.matching) > served.length ? seqFromText(last.seq) : null,
      // With everything pruned, the next event will be the oldest.
      oldestSeq:
        bounds?.oldest != null ? seqFromText(bounds.oldest) : headSeq === SEQ_NONE ? SEQ_NONE : nextSeq(headSeq),
      headSeq,
    };
  }

  /** Which of the ids the org's feed holds already. */
  async knownIds(orgId: OrgId, ids: readonly EventId[]): Promise<ReadonlySet<EventId>> {
    const rows = await this.store.forOrg(
      orgId,
      async (runner) =>
        (await runner.query('select event_id from events where org_id = $1 and event_id = any($2)', [orgId, ids])) as {
          event_id: EventId;
        }[],
    );
    return new Set(rows.map((row) => row.event_id));
  }
}
