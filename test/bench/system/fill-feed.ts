import { DayPartitions } from '#libs/postgres';
import { withStore } from './bench-store.js';

const DAY_MS = 86_400_000;
/** Within the retention of 30 days, the day that ends it left out. */
const DAYS = 28;
/** So many seqs, so many microseconds apart, fill a day evenly. */
const US_PER_DAY = DAY_MS * 1_000;

export interface FeedFilling {
  readonly orgId: string;
  /** Up to this seq, from 1 on. */
  readonly events: number;
  /** Of each envelope. */
  readonly envelopeBytes: number;
  /** Epoch milliseconds: the last of the days. */
  readonly nowMs: number;
}

/**
 * Gives an org a history of 28 days, as the projector would have written it: the rows of the feed, and its head. The
 * sequencer knows nothing of it, so nothing may be published to the org.
 */
export async function fillFeed(
  databaseUrl: string,
  { orgId, events, envelopeBytes, nowMs }: FeedFilling,
): Promise<void> {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const days = Array.from({ length: DAYS }, (_, index) => today - (DAYS - index) * DAY_MS);
  const eventsEachDay = Math.ceil(events / DAYS);
  await withStore(databaseUrl, async (store) => {
    await new DayPartitions(store).ensure(days);
    for (const [index, dayMs] of days.entries()) {
      const before = index * eventsEachDay;
      const count = Math.min(eventsEachDay, events - before);
      await store.query(
        `insert into events (org_id, seq, appended_at, event_id, event_type, envelope)
         select $1, seq, to_timestamp($2::bigint / 1000.0) + n * ($5::bigint / $4::bigint) * interval '1 microsecond',
           'evt_' || lpad(seq::text, 26, '0'), 'ticket.created',
           convert_to(head || repeat('x', $6::int - length(head) - 3) || '"}}', 'UTF8')
         from generate_series(0, $4::int - 1) as n, lateral (select $3::bigint + n + 1 as seq) as s,
           lateral (select format('{"id":"evt_%s","seq":%s,"event":"ticket.created","data":{"description":"',
             lpad(seq::text, 26, '0'), seq) as head) as h`,
        [orgId, dayMs, before, count, US_PER_DAY, envelopeBytes],
      );
    }
    await store.query('insert into org_heads (org_id, last_seq) values ($1, $2)', [orgId, events]);
    // A server that had a month for it has done this in passing.
    await store.query('vacuum (analyze) events');
  });
}
