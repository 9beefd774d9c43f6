import type { QueryRunner } from 'typeorm';
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

/** An event of the feed, without its bytes. */
export interface StoredId {
  readonly orgId: OrgId;
  readonly seq: Seq;
  readonly id: EventId;
}

/** The last events of an org: those after a seq. */
export interface FeedTail {
  /** The seq before the first one. */
  readonly after: Seq;
  readonly last: Seq;
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

/** What identifies an event and its row. */
interface KeyRow {
  readonly org_id: OrgId;
  readonly seq: string;
  readonly event_id: EventId;
  readonly appended_at: string;
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

/** How many rows one statement reads or deletes at most. */
export interface RepairPages {
  readonly ids: number;
  readonly events: number;
  readonly deletions: number;
}

/** Events have up to 256 KB each. */
const PAGES: RepairPages = { ids: 10_000, events: 250, deletions: 100_000 };

/** Reads the feed for a repair, and makes the projections fold a part of the log again. */
export class FeedRepair {
  constructor(
    private readonly store: Store,
    private readonly pages = PAGES,
  ) {}

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

  /** Calls `each` with the events of the orgs of a partition after these seqs, without their bytes, in any order. */
  async idsAfter(
    partition: number,
    seqs: ReadonlyMap<OrgId, Seq>,
    each: (page: readonly StoredId[]) => void,
  ): Promise<void> {
    await this.#keysAfter(partition, seqs, { order: '', atOnce: this.pages.ids }, (page) => {
      each(page.map((row) => ({ orgId: row.org_id, seq: seqFromText(row.seq), id: row.event_id })));
    });
  }

  /**
   * Calls `each` with the events of the orgs of a partition after these seqs, each org's in order, in the order of their
   * append.
   */
  async eventsAfter(
    partition: number,
    seqs: ReadonlyMap<OrgId, Seq>,
    each: (page: readonly StoredEvent[]) => Promise<void>,
  ): Promise<void> {
    // Only the keys are sorted: the envelopes of all events may take more than the disk of the server has left.
    const order = 'order by max(e.appended_at) over (partition by e.org_id order by e.seq), e.org_id, e.seq';
    await this.#keysAfter(partition, seqs, { order, atOnce: this.pages.events }, async (page, runner) => {
      await each(await eventsOf(runner, page));
    });
  }

  /** Reads the keys of the events a page at a time, all as of one moment. */
  async #keysAfter(
    partition: number,
    seqs: ReadonlyMap<OrgId, Seq>,
    { order, atOnce }: { readonly order: string; readonly atOnce: number },
    each: (page: readonly KeyRow[], runner: QueryRunner) => Promise<void> | void,
  ): Promise<void> {
    if (seqs.size === 0) return;
    await this.store.feed.settled();
    await this.store.feed.ofPartition(partition).snapshot(async (runner) => {
      await runner.query(
        `declare keys no scroll cursor for
         select e.org_id, e.seq, e.event_id, e.appended_at::text as appended_at
         from unnest($1::uuid[], $2::bigint[]) as known(org_id, seq)
         join events e on e.org_id = known.org_id and e.seq > known.seq ${order}`,
        [[...seqs.keys()], [...seqs.values()]],
      );
      for (;;) {
        const page = (await runner.query(`fetch ${atOnce} from keys`)) as KeyRow[];
        if (page.length === 0) return;
        await each(page, runner);
      }
    });
  }

  /** Returns those of the events that the feed lacks. */
  async without<T extends { readonly orgId: OrgId; readonly id: EventId }>(
    events: readonly T[],
  ): Promise<ReadonlySet<T>> {
    const absent = new Set<T>();
    const { ids } = this.pages;
    for (let from = 0; from < events.length; from += ids) {
      const found = await this.store.feed.each(
        events.slice(from, from + ids),
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

  /**
   * Compares facts with the delivery log.
   * @returns how many could be compared, which those of deleted endpoints cannot; and how many of them it has not folded
   */
  async compareFolded(
    facts: readonly DeliveryFact[],
  ): Promise<{ readonly compared: number; readonly missing: number }> {
    const noted = facts.flatMap((fact) => {
      if (fact.type === 'endpoint_disabled') return [];
      const run = fact.type === 'replayed' || fact.type === 'attempted' ? fact.run : 0;
      return [{ ...fact.delivery, run, attempt: fact.type === 'attempted' ? fact.attempt : null }];
    });
    const [row] = await this.store.query<{ compared: number; missing: number }>(
      `select count(*)::int as compared, (count(*) filter (
         where d.id is null or d.run < noted.run or (noted.attempt is not null and a.delivery_id is null)
       ))::int as missing
       from unnest($1::text[], $2::bigint[], $3::text[], $4::int[], $5::int[])
         as noted(id, created_ms, endpoint_id, run, attempt)
       join endpoints n on n.id = noted.endpoint_id
       left join deliveries d on d.id = noted.id and d.created_at = to_timestamp(noted.created_ms / 1000.0)
       left join delivery_attempts a on a.delivery_id = noted.id and a.run = noted.run and a.attempt = noted.attempt
         and a.delivery_created_at = to_timestamp(noted.created_ms / 1000.0)`,
      [
        noted.map(({ deliveryId }) => deliveryId),
        noted.map(({ createdAtMs }) => createdAtMs),
        noted.map(({ endpointId }) => endpointId),
        noted.map(({ run }) => run),
        noted.map(({ attempt }) => attempt),
      ],
    );
    return row ?? { compared: 0, missing: 0 };
  }

  /**
   * Removes the last events of the orgs, and sends the projections back, in one transaction. If another database than the
   * main one has the feed, the projections there come last: the same command finishes the work.
   */
  async foldAgain(tails: ReadonlyMap<OrgId, FeedTail>, to: SentBack): Promise<void> {
    await this.store.feed.settled();
    const ofFeed = to.projections.includes('feed') ? this.store.feed.ofPartition(to.partition) : this.store;
    if (ofFeed === this.store) {
      await this.#foldAgainIn(this.store, tails, to);
      return;
    }
    await this.#foldAgainIn(this.store, new Map(), to);
    await this.#foldAgainIn(ofFeed, tails, to);
  }

  async #foldAgainIn(store: Store, tails: ReadonlyMap<OrgId, FeedTail>, to: SentBack): Promise<void> {
    await store.transaction(async (runner) => {
      // Several statements, since one for millions of events would take longer than a query may.
      for (const parts of partsOf(tails, this.pages.deletions)) {
        await runner.query(
          `delete from events e using unnest($1::uuid[], $2::bigint[], $3::bigint[]) as part(org_id, after, last)
           where e.org_id = part.org_id and e.seq > part.after and e.seq <= part.last`,
          [parts.map(({ orgId }) => orgId), parts.map(({ after }) => after), parts.map(({ last }) => last)],
        );
      }
      await runner.query(
        `update org_heads h set last_seq = known.seq from unnest($1::uuid[], $2::bigint[]) as known(org_id, seq)
         where h.org_id = known.org_id and known.seq > 0`,
        [[...tails.keys()], [...tails.values()].map(({ after }) => after)],
      );
      await runner.query('delete from org_heads where org_id = any($1)', [
        [...tails].filter(([, { after }]) => after === 0).map(([orgId]) => orgId),
      ]);
      await runner.query(
        `update projection_offsets set next_offset = least(next_offset, $3), anchor = null
         where topic = $1 and partition = $2 and projection = any($4)`,
        [to.topic, to.partition, to.nextOffset, to.projections],
      );
    });
  }
}

/** Returns the events with these keys, in their order. */
async function eventsOf(runner: QueryRunner, keys: readonly KeyRow[]): Promise<readonly StoredEvent[]> {
  const rows = (await runner.query(
    `select e.org_id, e.seq, e.event_id, e.event_type, e.widget_id, e.envelope,
       (extract(epoch from e.appended_at) * 1000)::bigint as appended_ms
     from unnest($1::uuid[], $2::bigint[], $3::timestamptz[]) with ordinality as key(org_id, seq, appended_at, place)
     join events e on e.org_id = key.org_id and e.seq = key.seq and e.appended_at = key.appended_at
     order by key.place`,
    [keys.map((key) => key.org_id), keys.map((key) => key.seq), keys.map((key) => key.appended_at)],
  )) as EventRow[];
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

interface TailPart {
  readonly orgId: OrgId;
  readonly after: number;
  readonly last: number;
}

/** Cuts the tails into parts of at most so many seqs together. */
function* partsOf(tails: ReadonlyMap<OrgId, FeedTail>, mostSeqs: number): Generator<readonly TailPart[]> {
  let parts: TailPart[] = [];
  let free = mostSeqs;
  for (const [orgId, tail] of tails) {
    for (let after: number = tail.after; after < tail.last;) {
      const last = Math.min(tail.last, after + free);
      parts.push({ orgId, after, last });
      free -= last - after;
      after = last;
      if (free > 0) continue;
      yield parts;
      [parts, free] = [[], mostSeqs];
    }
  }
  if (parts.length > 0) yield parts;
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
