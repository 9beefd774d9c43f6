import { seqFromText, type EventId, type OrgId, type Seq, type WidgetId } from '#libs/domain';
import { isLockNotAvailable, type FeedServer, type Store } from '../connection/store.js';
import { DayPartitions } from '../projections/days/day-partitions.js';
import { isReadOnly } from '../read-only.js';

const ORGS_AT_ONCE = 200;
/** Events of up to 256 KB each. */
const EVENTS_AT_ONCE = 100;
/** The seqs that one statement digests. Their events may have 2.5 GB. */
const SEQS_AT_ONCE = 10_000;

/** An org and the last of its events that are compared. */
export interface ServedHead {
  readonly orgId: OrgId;
  readonly head: Seq;
}

interface OrgDigest {
  readonly events: number;
  readonly digest: bigint;
  /** The first seq that is stored, `null` without events. */
  readonly first: Seq | null;
  /** `null` without a head. */
  readonly head: Seq | null;
}

const NO_EVENTS: OrgDigest = { events: 0, digest: 0n, first: null, head: null };

interface BoundsRow {
  readonly org_id: OrgId;
  readonly head: string | null;
  readonly first: string | null;
}

interface SeqRange {
  readonly orgId: OrgId;
  readonly first: number;
  readonly last: number;
}

/** An org whose feed is not the same in both lists. */
export interface FeedDifference {
  readonly orgId: OrgId;
  readonly served: number;
  readonly copied: number;
}

/** Parameters: orgs and their last seqs; the oldest time, in epoch milliseconds. */
const BOUNDS = `
  select asked.org_id, h.last_seq as head, (
    select e.seq from events e
    where e.org_id = asked.org_id and e.seq <= asked.last_seq and e.appended_at >= to_timestamp($3::bigint / 1000.0)
    order by e.seq limit 1
  ) as first
  from unnest($1::uuid[], $2::bigint[]) as asked(org_id, last_seq)
  left join org_heads h on h.org_id = asked.org_id`;

/**
 * Adds up digests of whole rows, the same on each server. Parameters: orgs, their first and last seqs; the oldest time,
 * in epoch milliseconds.
 */
const DIGESTS = `
  select asked.org_id, found.events, found.digest
  from unnest($1::uuid[], $2::bigint[], $3::bigint[]) as asked(org_id, first_seq, last_seq)
  cross join lateral (
    select count(*)::int as events, coalesce(sum(
      ('x' || left(md5(concat_ws(' ', e.seq, e.event_id, e.event_type, e.widget_id, extract(epoch from e.appended_at),
        md5(e.envelope))), 16))::bit(64)::bigint::numeric
    ), 0)::text as digest
    from events e
    where e.org_id = asked.org_id and e.seq between asked.first_seq and asked.last_seq
      and e.appended_at >= to_timestamp($4::bigint / 1000.0)
  ) found`;

/** Compares the feed of two lists, and copies what only the served one still has. */
export class FeedCopy {
  readonly #days = new Map<Store, DayPartitions>();

  /**
   * @param target the main database, with the list that the feed moves to
   * @param seqsAtOnce how many seqs one statement digests
   */
  constructor(
    private readonly target: Store,
    private readonly seqsAtOnce = SEQS_AT_ONCE,
  ) {}

  async countOrgs({ store }: FeedServer): Promise<number> {
    const [row] = await store.query<{ count: number }>('select count(*)::int as count from org_heads');
    return row?.count ?? 0;
  }

  /** Returns the next orgs of a served database after that one, by id. */
  async headsAfter({ store }: FeedServer, after: OrgId | null): Promise<readonly ServedHead[]> {
    const rows = await store.query<{ org_id: OrgId; last_seq: string }>(
      `select org_id, last_seq from org_heads where $1::uuid is null or org_id > $1 order by org_id limit ${ORGS_AT_ONCE}`,
      [after],
    );
    return rows.map((row) => ({ orgId: row.org_id, head: seqFromText(row.last_seq) }));
  }

  /**
   * Compares the events of orgs up to their heads. The target has read the log further than that. Events that the log no
   * longer had, and heads of orgs without events, are copied.
   * @param sinceMs events that were appended earlier are left out, epoch milliseconds
   */
  async compare(
    served: FeedServer,
    orgs: readonly ServedHead[],
    sinceMs: number,
  ): Promise<{ readonly events: number; readonly copied: number; readonly differences: readonly FeedDifference[] }> {
    const expected = await this.#digestsIn(served.store, orgs, sinceMs);
    let found = await this.#digests(orgs, sinceMs);
    const differing = () => orgs.filter(({ orgId, head }) => !isSame(expected.get(orgId), found.get(orgId), head));
    let copied = 0;
    const first = differing();
    for (const org of first)
      copied += await this.#complete(served.store, org, found.get(org.orgId) ?? NO_EVENTS, sinceMs);
    if (first.length > 0) found = new Map([...found, ...(await this.#digests(first, sinceMs))]);
    const count = (from: ReadonlyMap<OrgId, OrgDigest>, orgId: OrgId) => from.get(orgId)?.events ?? 0;
    return {
      events: [...expected.values()].reduce((sum, { events }) => sum + events, 0),
      copied,
      differences: differing().map(({ orgId }) => ({
        orgId,
        served: count(expected, orgId),
        copied: count(found, orgId),
      })),
    };
  }

  async #digests(orgs: readonly ServedHead[], sinceMs: number): Promise<ReadonlyMap<OrgId, OrgDigest>> {
    const found = await this.target.feed.each(
      orgs,
      ({ orgId }) => orgId,
      (store, some) => this.#digestsIn(store, some, sinceMs),
    );
    return new Map(found.flatMap((some) => [...some]));
  }

  async #digestsIn(store: Store, orgs: readonly ServedHead[], sinceMs: number): Promise<ReadonlyMap<OrgId, OrgDigest>> {
    const bounds = await store.query<BoundsRow>(BOUNDS, [
      orgs.map(({ orgId }) => orgId),
      orgs.map(({ head }) => head),
      sinceMs,
    ]);
    const known = new Map(bounds.map((row) => [row.org_id, row]));
    const sums = new Map(orgs.map(({ orgId }) => [orgId, { events: 0, digest: 0n }]));
    for (const ranges of this.#parts(orgs, known)) {
      const rows = await store.query<{ org_id: OrgId; events: number; digest: string }>(DIGESTS, [
        ranges.map(({ orgId }) => orgId),
        ranges.map(({ first }) => first),
        ranges.map(({ last }) => last),
        sinceMs,
      ]);
      for (const { org_id, events, digest } of rows) {
        const before = sums.get(org_id) ?? { events: 0, digest: 0n };
        sums.set(org_id, { events: before.events + events, digest: before.digest + BigInt(digest) });
      }
    }
    return new Map(
      [...sums].map(([orgId, sum]) => {
        const row = known.get(orgId);
        return [orgId, { ...sum, first: seqOrNull(row?.first), head: seqOrNull(row?.head) }];
      }),
    );
  }

  /** Splits the stored seqs of orgs into parts that one statement digests in time. */
  *#parts(orgs: readonly ServedHead[], known: ReadonlyMap<OrgId, BoundsRow>): Iterable<readonly SeqRange[]> {
    let part: SeqRange[] = [];
    let left = this.seqsAtOnce;
    for (const { orgId, head } of orgs) {
      for (let first = Number(known.get(orgId)?.first ?? head + 1); first <= head;) {
        const last = Math.min(head, first + left - 1);
        part.push({ orgId, first, last });
        left -= last - first + 1;
        first = last + 1;
        if (left > 0) continue;
        yield part;
        [part, left] = [[], this.seqsAtOnce];
      }
    }
    if (part.length > 0) yield part;
  }

  /**
   * Copies the events before the first one that the target has, and the head of an org without any. It copies the newest
   * ones first. So after an interruption, those that are missing are again the ones before the first.
   */
  async #complete(
    served: Store,
    { orgId, head }: ServedHead,
    { first, head: known }: OrgDigest,
    sinceMs: number,
  ): Promise<number> {
    const to = await this.target.feed.of(orgId);
    let copied = 0;
    for (let until: number = first ?? head + 1; ;) {
      const rows = await served.query<CopiedRow>(
        `select seq, event_id, event_type, widget_id, (extract(epoch from appended_at) * 1000)::bigint as appended_ms, envelope
         from events where org_id = $1 and seq < $2 and appended_at >= to_timestamp($3::bigint / 1000.0)
         order by seq desc limit ${EVENTS_AT_ONCE}`,
        [orgId, until, sinceMs],
      );
      const oldest = rows.at(-1);
      if (oldest === undefined) break;
      await this.#insert(to, orgId, rows);
      copied += rows.length;
      until = Number(oldest.seq);
    }
    if (known === null) {
      await to.query(
        'with added as (insert into org_heads (org_id, last_seq) values ($1, $2) on conflict do nothing) select 1',
        [orgId, head],
      );
    }
    return copied;
  }

  async #insert(to: Store, orgId: OrgId, rows: readonly CopiedRow[]): Promise<void> {
    const days = this.#days.get(to) ?? new DayPartitions(to);
    this.#days.set(to, days);
    const timesMs = rows.map((row) => Number(row.appended_ms));
    await days.writeInto(timesMs, () =>
      to.query(
        `with added as (
           insert into events (org_id, seq, event_id, event_type, widget_id, appended_at, envelope)
           select $1, s, i, t, w, to_timestamp(a / 1000.0), e
           from unnest($2::bigint[], $3::text[], $4::text[], $5::uuid[], $6::bigint[], $7::bytea[]) as event(s, i, t, w, a, e)
           on conflict do nothing
         ) select 1`,
        [
          orgId,
          rows.map((row) => row.seq),
          rows.map((row) => row.event_id),
          rows.map((row) => row.event_type),
          rows.map((row) => row.widget_id),
          rows.map((row) => row.appended_ms),
          rows.map((row) => row.envelope),
        ],
      ),
    );
  }
}

interface CopiedRow {
  readonly seq: string;
  readonly event_id: EventId;
  readonly event_type: string;
  readonly widget_id: WidgetId | null;
  readonly appended_ms: string;
  readonly envelope: Buffer;
}

/** Waits until the statements that write the feed have ended. @returns whether they did soon enough */
export async function drainFeedWriters(store: Store): Promise<boolean> {
  try {
    await store.transaction(async (runner) => {
      await runner.query(`set local lock_timeout = '400ms'`);
      await runner.query('lock table projection_offsets in share mode');
    });
    return true;
  } catch (error) {
    // No statement writes on a standby, which refuses the lock.
    if (isReadOnly(error)) return true;
    if (isLockNotAvailable(error)) return false;
    throw error;
  }
}

function seqOrNull(text: string | null | undefined): Seq | null {
  return text === null || text === undefined ? null : seqFromText(text);
}

function isSame(served: OrgDigest = NO_EVENTS, copied: OrgDigest = NO_EVENTS, head: Seq): boolean {
  // The target may be ahead.
  return (copied.head ?? 0) >= head && served.events === copied.events && served.digest === copied.digest;
}
