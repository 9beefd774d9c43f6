import { seqFromText, type DeliveryFact, type EventId, type OrgId, type Seq, type WidgetId } from '#libs/domain';
import type { Store } from '../connection/store.js';

/** An event as the feed stores it. */
export interface StoredEvent {
  readonly orgId: OrgId;
  readonly seq: Seq;
  readonly id: EventId;
  readonly event: string;
  readonly widgetId: WidgetId | null;
  readonly appendedAtMs: number;
  readonly envelope: Buffer;
}

interface EventRow {
  readonly org_id: OrgId;
  readonly seq: string;
  readonly event_id: EventId;
  readonly event_type: string;
  readonly widget_id: WidgetId | null;
  readonly appended_ms: string;
  readonly envelope: Buffer;
}

/** The offset at which projections of a topic partition must continue. */
export interface SentBack {
  readonly topic: string;
  readonly partition: number;
  readonly nextOffset: number;
  readonly projections: readonly string[];
}

/** A seq that has one event in the feed and another in the log. */
export interface Conflict {
  readonly orgId: OrgId;
  readonly seq: Seq;
  /** The id of the event in the feed. */
  readonly id: EventId;
}

/** The number of ids that one statement looks up. */
const IDS_AT_ONCE = 10_000;

/** Reads the feed for a repair, and makes the projections fold a part of the log again. */
export class FeedRepair {
  constructor(private readonly store: Store) {}

  async heads(): Promise<ReadonlyMap<OrgId, Seq>> {
    const { feed } = this.store;
    await feed.settled();
    const found = await Promise.all(
      feed.all.map(({ place }) =>
        feed.ofPartition(place).query<{ org_id: OrgId; last_seq: string }>('select org_id, last_seq from org_heads'),
      ),
    );
    return new Map(found.flat().map((row) => [row.org_id, seqFromText(row.last_seq)]));
  }

  /** Returns the last seq that the queue of waiting chats of each org has folded. */
  async queueSeqs(): Promise<ReadonlyMap<OrgId, Seq>> {
    const rows = await this.store.query<{ org_id: OrgId; last_seq: string }>(
      'select org_id, last_seq from chat_queues',
    );
    return new Map(rows.map((row) => [row.org_id, seqFromText(row.last_seq)]));
  }

  /** Makes the queues of the orgs fold events after these seqs again: later ones that they have folded are lost. */
  async foldQueuesAgain(seqs: ReadonlyMap<OrgId, Seq>): Promise<void> {
    await this.store.query(
      `with known as (select * from unnest($1::uuid[], $2::bigint[]) as known(org_id, seq)), lowered as (
         update chat_queues q set last_seq = known.seq from known where q.org_id = known.org_id and q.last_seq > known.seq
       )
       select 1`,
      [[...seqs.keys()], [...seqs.values()]],
    );
  }

  /**
   * Returns the events of the orgs of a partition after these seqs, each org's in order, in the order of their append.
   */
  async after(partition: number, seqs: ReadonlyMap<OrgId, Seq>): Promise<readonly StoredEvent[]> {
    await this.store.feed.settled();
    const rows = await this.store.feed.ofPartition(partition).query<EventRow>(
      `select e.org_id, e.seq, e.event_id, e.event_type, e.widget_id, e.envelope,
         (extract(epoch from e.appended_at) * 1000)::bigint as appended_ms
       from unnest($1::uuid[], $2::bigint[]) as known(org_id, seq)
       join events e on e.org_id = known.org_id and e.seq > known.seq
       order by max(e.appended_at) over (partition by e.org_id order by e.seq), e.org_id, e.seq`,
      [[...seqs.keys()], [...seqs.values()]],
    );
    return rows.map((row) => ({
      orgId: row.org_id,
      seq: seqFromText(row.seq),
      id: row.event_id,
      event: row.event_type,
      widgetId: row.widget_id,
      appendedAtMs: Number(row.appended_ms),
      envelope: row.envelope,
    }));
  }

  /** Returns those of the events that the feed lacks. */
  async without<T extends { readonly orgId: OrgId; readonly id: EventId }>(
    events: readonly T[],
  ): Promise<ReadonlySet<T>> {
    const absent = new Set<T>();
    for (let from = 0; from < events.length; from += IDS_AT_ONCE) {
      const found = await this.store.feed.each(
        events.slice(from, from + IDS_AT_ONCE),
        ({ orgId }) => orgId,
        (store, some) => withoutIn(store, some),
      );
      for (const event of found.flat()) absent.add(event);
    }
    return absent;
  }

  /** Returns those log events of a partition whose seq has another event or other bytes in the feed. */
  async conflicts(
    partition: number,
    events: readonly { readonly orgId: OrgId; readonly seq: Seq; readonly envelope: Buffer }[],
  ): Promise<readonly Conflict[]> {
    await this.store.feed.settled();
    const rows = await this.store.feed.ofPartition(partition).query<{ org_id: OrgId; seq: string; event_id: EventId }>(
      `select e.org_id, e.seq, e.event_id
       from unnest($1::uuid[], $2::bigint[], $3::bytea[]) as logged(org_id, seq, envelope)
       join events e on e.org_id = logged.org_id and e.seq = logged.seq
       where e.envelope <> logged.envelope order by e.org_id, e.seq`,
      [events.map(({ orgId }) => orgId), events.map(({ seq }) => seq), events.map(({ envelope }) => envelope)],
    );
    return rows.map((row) => ({ orgId: row.org_id, seq: seqFromText(row.seq), id: row.event_id }));
  }

  /** Whether the delivery log has folded these facts. Deleted endpoints do not count. */
  async hasFolded(facts: readonly DeliveryFact[]): Promise<boolean> {
    const noted = facts.flatMap((fact) => {
      if (fact.type === 'endpoint_disabled') return [];
      const run = fact.type === 'replayed' || fact.type === 'attempted' ? fact.run : 0;
      return [{ ...fact.delivery, run, attempt: fact.type === 'attempted' ? fact.attempt : null }];
    });
    const [row] = await this.store.query<{ is_missing: boolean }>(
      `select exists (
         select from unnest($1::text[], $2::bigint[], $3::text[], $4::int[], $5::int[])
           as noted(id, created_ms, endpoint_id, run, attempt)
         join endpoints n on n.id = noted.endpoint_id
         left join deliveries d on d.id = noted.id and d.created_at = to_timestamp(noted.created_ms / 1000.0)
         left join delivery_attempts a on a.delivery_id = noted.id and a.run = noted.run and a.attempt = noted.attempt
           and a.delivery_created_at = to_timestamp(noted.created_ms / 1000.0)
         where d.id is null or d.run < noted.run or (noted.attempt is not null and a.delivery_id is null)
       ) as is_missing`,
      [
        noted.map(({ deliveryId }) => deliveryId),
        noted.map(({ createdAtMs }) => createdAtMs),
        noted.map(({ endpointId }) => endpointId),
        noted.map(({ run }) => run),
        noted.map(({ attempt }) => attempt),
      ],
    );
    return row?.is_missing !== true;
  }

  /**
   * Removes the events of the orgs after these seqs, and sends the projections back, in one transaction. If another
   * database than the main one has the feed, the projections there come last: the same command finishes the work.
   */
  async foldAgain(seqs: ReadonlyMap<OrgId, Seq>, to: SentBack): Promise<void> {
    await this.store.feed.settled();
    const ofFeed = to.projections.includes('feed') ? this.store.feed.ofPartition(to.partition) : this.store;
    if (ofFeed === this.store) {
      await foldAgainIn(this.store, seqs, to);
      return;
    }
    await foldAgainIn(this.store, new Map(), to);
    await foldAgainIn(ofFeed, seqs, to);
  }
}

async function foldAgainIn(store: Store, seqs: ReadonlyMap<OrgId, Seq>, to: SentBack): Promise<void> {
  await store.transaction(async (runner) => {
    const known = [[...seqs.keys()], [...seqs.values()]];
    await runner.query(
      `delete from events e using unnest($1::uuid[], $2::bigint[]) as known(org_id, seq)
       where e.org_id = known.org_id and e.seq > known.seq`,
      known,
    );
    await runner.query(
      `update org_heads h set last_seq = known.seq from unnest($1::uuid[], $2::bigint[]) as known(org_id, seq)
       where h.org_id = known.org_id and known.seq > 0`,
      known,
    );
    await runner.query('delete from org_heads where org_id = any($1)', [
      [...seqs].filter(([, seq]) => seq === 0).map(([orgId]) => orgId),
    ]);
    await runner.query(
      `update projection_offsets set next_offset = least(next_offset, $3), anchor = null
       where topic = $1 and partition = $2 and projection = any($4)`,
      [to.topic, to.partition, to.nextOffset, to.projections],
    );
  });
}

/** Returns those of the events that the database lacks. */
async function withoutIn<T extends { readonly orgId: OrgId; readonly id: EventId }>(
  store: Store,
  events: readonly T[],
): Promise<readonly T[]> {
  const rows = await store.query<{ at: number }>(
    `select (asked.at - 1)::int as at from unnest($1::uuid[], $2::text[]) with ordinality as asked(org_id, id, at)
     where not exists (select from events e where e.org_id = asked.org_id and e.event_id = asked.id)`,
    [events.map(({ orgId }) => orgId), events.map(({ id }) => id)],
  );
  return rows.flatMap(({ at }) => events[at] ?? []);
}
