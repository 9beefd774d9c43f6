import type { QueryRunner } from 'typeorm';
import type { OrgId } from '#libs/domain';
import { IN_ORDER_OF_INDEX } from '../in-order-of-index.js';
import type { Store } from '../connection/store.js';
import { pendingOf } from '../deliveries/pending-of.js';
import { DashboardFigures, TooMuchToCountError } from '../figures/dashboard-figures.js';

const DAY_MS = 86_400_000;

/** The most events that one statement adds up. It takes about 50 ms. */
const CHUNK_EVENTS = 20_000;

/** Counting stops after this time, milliseconds. The next request counts on from there. */
const BUDGET_MS = 3_000;

/** The figures of one day in UTC. */
export interface OrgDay {
  readonly startMs: number;
  /** Events appended on the day. */
  readonly events: number;
  /** The size of their envelopes; `null` while not all of them are counted. */
  readonly bytes: number | null;
  /** Attempts that began on the day, by outcome; `null` if they could not be counted in time. */
  readonly attempts: { readonly delivered: number; readonly failed: number } | null;
}

/** The deliveries of an org that wait for their next attempt. */
export interface PendingDeliveries {
  /** Of each endpoint, at most 10,000 count. */
  readonly count: number;
  readonly oldestAt: Date | null;
}

interface DayRow {
  readonly start_ms: string;
  readonly counted_through_seq: string;
  readonly bytes: string;
  readonly delivered: number | null;
  readonly failed_attempts: number | null;
}

/** Which days to count. */
export interface DaysAsked {
  readonly startMs: number;
  readonly count: number;
  /** The attempts of days that end before this are all known. */
  readonly settledMs: number;
}

/**
 * Counts what an org used, by day. The size of envelopes has no index, so it is added up once and stored: a request
 * with a cold store answers in a few seconds, with the days that it got to.
 */
export class OrgStatistics {
  readonly #figures: DashboardFigures;

  constructor(private readonly store: Store) {
    this.#figures = new DashboardFigures(store);
  }

  /**
   * Counts days, oldest first. The latest ones are counted first.
   * @param monotonicMs a clock for the time budget
   */
  async byDay(orgId: OrgId, asked: DaysAsked, monotonicMs: () => number): Promise<readonly OrgDay[]> {
    const untilMs = monotonicMs() + BUDGET_MS;
    const hasTime = () => monotonicMs() < untilMs;
    const [events, stored] = await Promise.all([
      this.#figures.eventCounts(orgId, { startMs: asked.startMs, sizeMs: DAY_MS, count: asked.count }),
      this.#stored(orgId, asked.startMs),
    ]);
    const days: OrgDay[] = [];
    for (let index = asked.count - 1; index >= 0; index--) {
      const startMs = asked.startMs + index * DAY_MS;
      const known = stored.get(startMs);
      const count = events.get(index) ?? 0;
      const bytes = count === 0 ? 0 : await this.#bytes(orgId, startMs, known, hasTime);
      const attempts = await this.#attempts(orgId, startMs, known, asked.settledMs, hasTime);
      days.push({ startMs, events: count, bytes, attempts });
    }
    return days.toReversed();
  }

  async pending(orgId: OrgId): Promise<PendingDeliveries> {
    const [row] = await this.store.forOrg(orgId, async (runner) => {
      await runner.query(IN_ORDER_OF_INDEX);
      return (await runner.query(
        `select coalesce(sum(waiting.pending), 0)::int as count, min(waiting.oldest_pending_at) as oldest_at
         from endpoints e cross join lateral ${pendingOf('e.id')} waiting`,
      )) as { count: number; oldest_at: Date | null }[];
    });
    return { count: row?.count ?? 0, oldestAt: row?.oldest_at ?? null };
  }

  /** Reads the stored days, and forgets those before the first one. */
  async #stored(orgId: OrgId, startMs: number): Promise<ReadonlyMap<number, DayRow>> {
    return this.store.forOrg(orgId, async (runner) => {
      const first = [orgId, new Date(startMs)];
      await runner.query(
        `delete from org_days where org_id = $1 and day < ($2::timestamptz at time zone 'UTC')::date - 31`,
        first,
      );
      const rows = (await runner.query(
        `select (extract(epoch from day::timestamp at time zone 'UTC') * 1000)::bigint as start_ms, counted_through_seq, bytes,
           delivered, failed_attempts
         from org_days where org_id = $1 and day >= ($2::timestamptz at time zone 'UTC')::date order by day`,
        first,
      )) as DayRow[];
      return new Map(rows.map((row) => [Number(row.start_ms), row]));
    });
  }

  /** Adds up the events that were not counted yet. @returns `null` if there are more */
  async #bytes(
    orgId: OrgId,
    startMs: number,
    known: DayRow | undefined,
    hasTime: () => boolean,
  ): Promise<number | null> {
    let bytes = Number(known?.bytes ?? 0);
    let through = known?.counted_through_seq ?? '0';
    while (hasTime()) {
      const after = through;
      const chunk = await this.#addChunk(orgId, startMs, after);
      bytes += chunk.bytes;
      if (chunk.events < CHUNK_EVENTS) return bytes;
      through = chunk.through;
    }
    return null;
  }

  async #attempts(
    orgId: OrgId,
    startMs: number,
    known: DayRow | undefined,
    settledMs: number,
    hasTime: () => boolean,
  ): Promise<OrgDay['attempts']> {
    if (known !== undefined && known.delivered !== null && known.failed_attempts !== null) {
      return { delivered: known.delivered, failed: known.failed_attempts };
    }
    if (!hasTime()) return null;
    const untilMs = startMs + DAY_MS;
    try {
      const counts = await this.#figures.attemptTotals(
        orgId,
        { startMs, sizeMs: DAY_MS, count: 1 },
        { fromMs: startMs, untilMs },
      );
      const attempts = {
        delivered: counts.reduce((sum, { delivered }) => sum + delivered, 0),
        failed: counts.reduce((sum, { failed }) => sum + failed, 0),
      };
      if (untilMs <= settledMs) await this.#store(orgId, startMs, attempts);
      return attempts;
    } catch (error) {
      if (error instanceof TooMuchToCountError) return null;
      throw error;
    }
  }

  async #store(orgId: OrgId, startMs: number, attempts: NonNullable<OrgDay['attempts']>): Promise<void> {
    await this.store.forOrg(orgId, (runner) =>
      runner.query(
        `insert into org_days (org_id, day, delivered, failed_attempts)
         values ($1, ($2::timestamptz at time zone 'UTC')::date, $3, $4)
         on conflict (org_id, day) do update
         set delivered = excluded.delivered, failed_attempts = excluded.failed_attempts`,
        [orgId, new Date(startMs), attempts.delivered, attempts.failed],
      ),
    );
  }

  /** Adds up the next events of the day after a seq, and stores how far it came. It waits for no database with a connection to another. */
  async #addChunk(orgId: OrgId, startMs: number, after: string): Promise<Chunk> {
    const { store } = this;
    await store.feed.settled();
    const feed = await store.feed.of(orgId);
    const chunk = await feed.forOrg(orgId, (runner) => readChunk(runner, orgId, startMs, after));
    if (chunk.events > 0) await store.forOrg(orgId, (runner) => storeChunk(runner, orgId, startMs, after, chunk));
    return chunk;
  }
}

interface Chunk {
  readonly events: number;
  readonly bytes: number;
  readonly through: string;
}

async function readChunk(runner: QueryRunner, orgId: OrgId, startMs: number, after: string): Promise<Chunk> {
  const [row] = (await runner.query(
    `select count(*)::int as events, coalesce(sum(bytes), 0)::bigint as bytes, coalesce(max(seq), $3::bigint) as through
     from (
       select seq, octet_length(envelope) as bytes from events
       where org_id = $1 and seq > $3 and appended_at >= $2 and appended_at < $2::timestamptz + interval '24 hours'
       order by seq limit ${CHUNK_EVENTS}
     ) chunk`,
    [orgId, new Date(startMs), after],
  )) as { events: number; bytes: string; through: string }[];
  return { events: row?.events ?? 0, bytes: Number(row?.bytes ?? 0), through: row?.through ?? after };
}

async function storeChunk(
  runner: QueryRunner,
  orgId: OrgId,
  startMs: number,
  after: string,
  chunk: Chunk,
): Promise<void> {
  await runner.query(
    `insert into org_days as d (org_id, day, counted_through_seq, bytes)
     values ($1, ($2::timestamptz at time zone 'UTC')::date, $4, $5)
     on conflict (org_id, day) do update
     set counted_through_seq = excluded.counted_through_seq, bytes = d.bytes + excluded.bytes
     -- Another request may have counted the same events.
     where d.counted_through_seq = $3`,
    [orgId, new Date(startMs), after, chunk.through, chunk.bytes],
  );
}
