import type { EventId, OrgId, Seq, WidgetId } from '#libs/domain';
import type { Store } from '../connection/store.js';

/** The values of a log record that the feed must show. */
export interface LoggedEvent {
  readonly orgId: OrgId;
  readonly seq: Seq;
  readonly id: EventId;
  readonly event: string;
  readonly widgetId: WidgetId | null;
  /** When the broker appended the record, in epoch milliseconds. */
  readonly appendedAtMs: number;
  /** The SHA-256 of the envelope's bytes. */
  readonly sha256: Buffer;
}

/** The columns of a row that differ from the log; `row` if there is none. */
type EventColumn = 'row' | 'event_id' | 'event_type' | 'widget_id' | 'appended_at' | 'envelope';

/** A record of the log that is missing in the feed or differs there. */
export interface EventMismatch {
  readonly event: LoggedEvent;
  readonly columns: readonly EventColumn[];
}

/** The feed's content for one org. */
export interface FeedSpan {
  readonly orgId: OrgId;
  /** The number of rows in the requested span. */
  readonly rows: number;
  /** The seq of the head that readers see; `null` if the org has none. */
  readonly head: number | null;
}

interface WantedSpan {
  readonly orgId: OrgId;
  readonly firstSeq: Seq;
  readonly lastSeq: Seq;
}

interface MismatchRow {
  readonly place: string;
  readonly columns: EventColumn[];
}

/** Postgres hashes its rows and returns only the differences, so that no bytes have to be sent. */
const MISMATCHES = `
  select logged.place, array_remove(array[
    case when stored.seq is null then 'row' end,
    case when stored.event_id <> logged.id then 'event_id' end,
    case when stored.event_type <> logged.type then 'event_type' end,
    case when stored.widget_id is distinct from logged.widget and stored.seq is not null then 'widget_id' end,
    case when sha256(stored.envelope) <> logged.sha256 then 'envelope' end
  ], null) as columns
  from unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::uuid[], $6::bigint[], $7::bytea[])
    with ordinality as logged(org_id, seq, id, type, widget, appended_ms, sha256, place)
  left join events stored on stored.org_id = logged.org_id and stored.seq = logged.seq
    and stored.appended_at = to_timestamp(logged.appended_ms / 1000.0)
  where stored.seq is null or stored.event_id <> logged.id or stored.event_type <> logged.type
    or stored.widget_id is distinct from logged.widget or sha256(stored.envelope) <> logged.sha256
  order by logged.place`;

function orgIdOf({ orgId }: { readonly orgId: OrgId }): OrgId {
  return orgId;
}

/** Compares the feed with the log. It changes nothing. */
export class FeedAudit {
  constructor(private readonly store: Store) {}

  /** Groups events by the database that holds them, so that one that is away stops no other. */
  groups(events: readonly LoggedEvent[]): readonly (readonly LoggedEvent[])[] {
    return [...this.store.feed.group(events, orgIdOf).values()];
  }

  /** Returns the events that come after the head of their org: a database that went back has not read them again yet. */
  async beyondHead(events: readonly LoggedEvent[]): Promise<ReadonlySet<LoggedEvent>> {
    const heads = new Map<OrgId, number>();
    for (const orgId of new Set(events.map(orgIdOf))) heads.set(orgId, Number(await this.store.feed.head(orgId)));
    return new Set(events.filter(({ orgId, seq }) => seq > (heads.get(orgId) ?? 0)));
  }

  /** Returns the events that are missing in the feed or differ there. */
  async mismatches(events: readonly LoggedEvent[]): Promise<readonly EventMismatch[]> {
    const found = await this.store.feed.each(events, orgIdOf, (store, some) => this.#mismatches(store, some));
    return found.flat();
  }

  async #mismatches(store: Store, events: readonly LoggedEvent[]): Promise<readonly EventMismatch[]> {
    const rows = await store.prepared<MismatchRow>('audit_feed', MISMATCHES, [
      events.map((event) => event.orgId),
      events.map((event) => event.seq),
      events.map((event) => event.id),
      events.map((event) => event.event),
      events.map((event) => event.widgetId),
      events.map((event) => event.appendedAtMs),
      events.map((event) => event.sha256),
    ]);
    const found = rows.flatMap(({ place, columns }) => {
      const event = events[Number(place) - 1];
      return event === undefined ? [] : [{ event, columns }];
    });
    const elsewhere = await this.#withAnyTime(
      store,
      found.filter(({ columns }) => columns[0] === 'row'),
    );
    return found.map((mismatch) =>
      elsewhere.has(mismatch.event) ? { ...mismatch, columns: ['appended_at'] as const } : mismatch,
    );
  }

  /** Returns those events that the feed holds with another time of append. */
  async #withAnyTime(store: Store, missing: readonly EventMismatch[]): Promise<ReadonlySet<LoggedEvent>> {
    if (missing.length === 0) return new Set();
    const rows = await store.query<{ place: string }>(
      `select logged.place
       from unnest($1::uuid[], $2::bigint[]) with ordinality as logged(org_id, seq, place)
       where exists (select from events e where e.org_id = logged.org_id and e.seq = logged.seq)`,
      [missing.map(({ event }) => event.orgId), missing.map(({ event }) => event.seq)],
    );
    return new Set(rows.flatMap(({ place }) => missing[Number(place) - 1]?.event ?? []));
  }

  /** Returns those events whose seq has other bytes in the feed, whatever the time of append. */
  async otherBytes(events: readonly LoggedEvent[]): Promise<readonly LoggedEvent[]> {
    return (await this.store.feed.each(events, orgIdOf, (store, some) => this.#otherBytes(store, some))).flat();
  }

  async #otherBytes(store: Store, events: readonly LoggedEvent[]): Promise<readonly LoggedEvent[]> {
    const rows = await store.query<{ place: string }>(
      `select logged.place
       from unnest($1::uuid[], $2::bigint[], $3::bytea[]) with ordinality as logged(org_id, seq, sha256, place)
       where exists (
         select from events e
         where e.org_id = logged.org_id and e.seq = logged.seq and sha256(e.envelope) <> logged.sha256
       )`,
      [events.map((event) => event.orgId), events.map((event) => event.seq), events.map((event) => event.sha256)],
    );
    return rows.flatMap(({ place }) => events[Number(place) - 1] ?? []);
  }

  /**
   * Returns the number of rows of each org between two seqs, both included.
   * @param sinceMs rows that were appended earlier do not count
   */
  async spans(wanted: readonly WantedSpan[], sinceMs: number): Promise<readonly FeedSpan[]> {
    return (await this.store.feed.each(wanted, orgIdOf, (store, some) => this.#spans(store, some, sinceMs))).flat();
  }

  async #spans(store: Store, wanted: readonly WantedSpan[], sinceMs: number): Promise<readonly FeedSpan[]> {
    const rows = await store.query<{ org_id: OrgId; rows: string; head: string | null }>(
      `select wanted.org_id, found.rows, h.last_seq as head
       from unnest($1::uuid[], $2::bigint[], $3::bigint[]) as wanted(org_id, first_seq, last_seq)
       cross join lateral (
         select count(*) as rows from events e
         where e.org_id = wanted.org_id and e.seq between wanted.first_seq and wanted.last_seq
           and e.appended_at >= to_timestamp($4 / 1000.0)
       ) found
       left join org_heads h on h.org_id = wanted.org_id`,
      [wanted.map((org) => org.orgId), wanted.map((org) => org.firstSeq), wanted.map((org) => org.lastSeq), sinceMs],
    );
    return rows.map((row) => ({
      orgId: row.org_id,
      rows: Number(row.rows),
      head: row.head === null ? null : Number(row.head),
    }));
  }

  /** Returns up to `limit` orgs after `after`, by id, with events in the feed from that time. */
  async orgs(after: OrgId | null, limit: number, sinceMs: number): Promise<readonly OrgId[]> {
    await this.store.feed.settled();
    const found = await Promise.all(
      this.store.feed.all.map(({ place }) => this.#orgs(this.store.feed.ofPartition(place), [after, limit, sinceMs])),
    );
    // Ids are lower case hexadecimal digits, so texts have the order of uuids.
    return found.flat().toSorted().slice(0, limit);
  }

  async #orgs(store: Store, parameters: readonly unknown[]): Promise<readonly OrgId[]> {
    const rows = await store.query<{ org_id: OrgId }>(
      `select h.org_id from org_heads h
       where ($1::uuid is null or h.org_id > $1) and exists (
         select from events e where e.org_id = h.org_id and e.appended_at >= to_timestamp($3 / 1000.0)
       )
       order by h.org_id limit $2`,
      parameters,
    );
    return rows.map((row) => row.org_id);
  }
}
