import { GaplessError, type EndpointId, type OrgId } from '#libs/domain';
import { ANY_STATUS, IS_ENDED, SEEN_DELIVERIES } from '../projections/seen-deliveries.js';
import { SQL_STATES, sqlStateOf } from '../connection/sql-states.js';
import type { Store } from '../connection/store.js';

/** Consecutive periods of equal length. */
export interface Buckets {
  readonly startMs: number;
  readonly sizeMs: number;
  readonly count: number;
}

/** The number of events appended in each bucket; empty buckets are missing. */
export type EventCounts = ReadonlyMap<number, number>;

/** The attempts that began in a bucket, by outcome. */
export interface AttemptCounts {
  readonly endpointId: EndpointId;
  readonly bucket: number;
  readonly delivered: number;
  readonly failed: number;
}

/** The attempts to all endpoints that began in a bucket, by outcome. */
export type AttemptTotals = Omit<AttemptCounts, 'endpointId'>;

/** A period, without its end; epoch milliseconds. */
export interface TimeRange {
  readonly fromMs: number;
  /** `null` for no end. */
  readonly untilMs: number | null;
}

/** Counts of deliveries by outcome. */
export interface Outcomes {
  readonly delivered: number;
  readonly failed: number;
  readonly pending: number;
}

/** The time from an event's append to the endpoint's answer, milliseconds; `null` without any such attempt. */
export interface PushLatency {
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  /** The number of attempts that were measured. */
  readonly samples: number;
}

/** Percentiles use at most this many attempts of each endpoint, the latest ones. */
const LATENCY_SAMPLES = 500;

/** The attempts of each endpoint among which they are looked for, the latest ones. Most may have failed. */
const LATENCY_LOOKED_AT = 5_000;

const DAY_MS = 86_400_000;

/** The time limit of a statement, milliseconds: a page must not wait longer, or slow down others. */
const STATEMENT_TIMEOUT_MS = 5_000;

/**
 * Counts events by difference of `seq`, which has no gaps: it only searches the edges of the buckets, by bisection.
 * `seq` and time ascend together, so a stretch that begins and ends in one bucket lies in it.
 *
 * `bucket` is -1 for events before the first one. A partition is a day. So the last event before the first bucket is
 * searched in the day before; without one, the first event of all is used.
 */
const COUNT_EVENTS = `
  with recursive edges as materialized (
    select first.seq - 1 as low, last.seq as high,
      greatest(-1, floor(extract(epoch from last.appended_at - $2) / $3))::int as high_bucket
    from (
      select seq from events where org_id = $1 and appended_at >= $2::timestamptz - interval '24 hours' order by seq limit 1
    ) first
    cross join (
      select seq, appended_at from events where org_id = $1 and appended_at >= $2::timestamptz - interval '24 hours'
      order by seq desc limit 1
    ) last
  ), stretch (low, low_bucket, high, high_bucket) as (
    select low, -1, high, high_bucket from edges
    union all
    select half.* from stretch
    cross join lateral (
      select seq, greatest(-1, floor(extract(epoch from appended_at - $2) / $3))::int as bucket from events
      where org_id = $1 and seq = (stretch.low + stretch.high) / 2 and appended_at >= $2::timestamptz - interval '24 hours'
      limit 1
    ) middle
    cross join lateral (values
      (stretch.low, stretch.low_bucket, middle.seq, middle.bucket),
      (middle.seq, middle.bucket, stretch.high, stretch.high_bucket)
    ) half (low, low_bucket, high, high_bucket)
    where stretch.high_bucket > stretch.low_bucket and stretch.high - stretch.low > 1
  )
  select high_bucket as bucket, sum(high - low)::int as events from stretch
  where high_bucket >= 0 and (high_bucket <= low_bucket or high - low = 1) group by 1`;

// Reads endpoint by endpoint, because the index of attempts begins with it; a join would read all orgs' attempts. An
// attempt has no error exactly if its response was 2xx. The response is in the index, the error is not. Endpoints without
// an attempt in the window are left out, because a search for each takes long if there are many.
const COUNT_ATTEMPTS = `
  select e.id as endpoint_id, round(extract(epoch from counts.at - $1::timestamptz) * 1000 / $2::int)::int as bucket,
    counts.delivered, counts.failed
  from endpoints e
  join endpoint_health h on h.endpoint_id = e.id and h.last_triggered_at >= $3
  cross join lateral (
    select date_bin($2::int * interval '1 ms', started_at, $1::timestamptz) as at,
      (count(*) filter (where response_status between 200 and 299))::int as delivered,
      (count(*) filter (where (response_status between 200 and 299) is not true))::int as failed
    from delivery_attempts
    where endpoint_id = h.endpoint_id and started_at >= $3 and started_at < $4 group by 1
  ) counts
  where $5::text is null or e.id = $5`;

const COUNT_ALL_ATTEMPTS = `
  select bucket, sum(delivered)::int as delivered, sum(failed)::int as failed from (${COUNT_ATTEMPTS}) counts group by 1`;

const COUNT_OUTCOMES = `
  select coalesce(sum(counts.delivered), 0)::int as delivered, coalesce(sum(counts.failed), 0)::int as failed,
    coalesce(sum(counts.pending), 0)::int as pending
  from endpoints e
  cross join lateral (
    select count(*) filter (where d.status = 'delivered') as delivered,
      count(*) filter (where d.status = 'failed' or ${IS_ENDED}) as failed,
      count(*) filter (where d.status = 'pending' and not ${IS_ENDED}) as pending
    from ${SEEN_DELIVERIES} where d.endpoint_id = e.id and ${ANY_STATUS} and d.created_at >= $1 and d.created_at < $2
  ) counts`;

// A recovery is due later than its event was appended. The inner query begins with a day ($2), because a partition is
// a day. So its limit counts every attempt that it reads. Attempts of earlier versions do not say when they were due.
const MEASURE_LATENCY = `
  select count(*)::int as samples, percentile_disc(0.5) within group (order by ms) as p50_ms,
    percentile_disc(0.95) within group (order by ms) as p95_ms
  from endpoints e
  cross join lateral (
    select (extract(epoch from started_at - delivery_created_at) * 1000)::int + duration_ms as ms
    from (
      select * from delivery_attempts
      where endpoint_id = e.id and started_at >= $1 and delivery_created_at >= $2
      order by started_at desc limit ${LATENCY_LOOKED_AT}
    ) looked_at
    where delivery_created_at >= $1 and response_status between 200 and 299
      and run = 0 and attempt = 1 and coalesce(due_at <= delivery_created_at, true)
      and coalesce(waited_for = 'slow_lane', true)
    order by started_at desc limit ${LATENCY_SAMPLES}
  ) latest`;

/**
 * Each change of an endpoint or its health writes its row in another transaction. A chat changes its queue's row, an alert
 * the latest time.
 */
const READ_CHANGE_MARKS = `
  select
    (select md5(string_agg(e.xmin::text || ' ' || coalesce(h.xmin::text, ''), ' ' order by e.id))
     from endpoints e left join endpoint_health h on h.endpoint_id = e.id) as endpoints,
    (select md5(string_agg(q::text, ' ')) from chat_queues q where q.org_id = $1)
      || ' ' || coalesce((select max(raised_at) from alerts where org_id = $1)::text, '') as chats`;

/** There is more than can be counted in the time of a request, such as in a long window. */
export class TooMuchToCountError extends GaplessError {
  constructor(cause: unknown) {
    super('unavailable', 'The count took too long. Try again later.', { cause });
  }
}

/** Reads the figures of the dashboard: counts over a period. Each query uses an existing index. */
export class DashboardFigures {
  constructor(private readonly store: Store) {}

  /** Counts an org's events by time of append. @throws TooMuchToCountError, like all methods here */
  async eventCounts(orgId: OrgId, { startMs, sizeMs }: Buckets): Promise<EventCounts> {
    const parameters = [orgId, new Date(startMs), sizeMs / 1_000];
    const feed = await this.store.feed.of(orgId);
    const rows = await this.#read<{ bucket: number; events: number }>(orgId, COUNT_EVENTS, parameters, feed);
    return new Map(rows.map(({ bucket, events }) => [bucket, events]));
  }

  /** Counts attempts that began in the range, for all endpoints or one; buckets without attempts are missing. */
  async attemptCounts(
    orgId: OrgId,
    { startMs, sizeMs }: Buckets,
    range: TimeRange,
    endpointId?: EndpointId,
  ): Promise<readonly AttemptCounts[]> {
    const rows = await this.#read<{ endpoint_id: EndpointId; bucket: number; delivered: number; failed: number }>(
      orgId,
      COUNT_ATTEMPTS,
      [new Date(startMs), sizeMs, ...rangeParameters(range), endpointId ?? null],
    );
    return rows.map(({ endpoint_id, ...row }) => ({ endpointId: endpoint_id, ...row }));
  }

  /** Counts the attempts to all endpoints together. The answer is as small with thousands of endpoints as with one. */
  async attemptTotals(orgId: OrgId, { startMs, sizeMs }: Buckets, range: TimeRange): Promise<readonly AttemptTotals[]> {
    const parameters = [new Date(startMs), sizeMs, ...rangeParameters(range), null];
    return this.#read<AttemptTotals>(orgId, COUNT_ALL_ATTEMPTS, parameters);
  }

  /** Counts the outcomes of deliveries to the org's endpoints, for events that were appended in the range. */
  async outcomes(orgId: OrgId, range: TimeRange): Promise<Outcomes> {
    const [row] = await this.#read<Outcomes>(orgId, COUNT_OUTCOMES, rangeParameters(range));
    return row ?? { delivered: 0, failed: 0, pending: 0 };
  }

  /** Returns texts that change with the endpoints of the org and their health, and with its chats and alerts. */
  async changeMarks(orgId: OrgId): Promise<{ readonly endpoints: string; readonly chats: string }> {
    const [row] = await this.#read<{ endpoints: string | null; chats: string | null }>(orgId, READ_CHANGE_MARKS, [
      orgId,
    ]);
    return { endpoints: row?.endpoints ?? '', chats: row?.chats ?? '' };
  }

  /**
   * Measures the latest first attempts that succeeded, of events that were appended since then, among the latest 5,000
   * attempts of each endpoint. It leaves out what was replayed or recovered, and what waited for its order or its pace.
   */
  async pushLatency(orgId: OrgId, since: Date): Promise<PushLatency> {
    const [row] = await this.#read<{ samples: number; p50_ms: number | null; p95_ms: number | null }>(
      orgId,
      MEASURE_LATENCY,
      [since, new Date(since.getTime() - (since.getTime() % DAY_MS))],
    );
    return { p50Ms: row?.p50_ms ?? null, p95Ms: row?.p95_ms ?? null, samples: row?.samples ?? 0 };
  }

  async #read<Row>(
    orgId: OrgId,
    sql: string,
    parameters: readonly unknown[],
    store = this.store,
  ): Promise<readonly Row[]> {
    try {
      return await store.forOrg(orgId, async (runner) => {
        await runner.query(`set local statement_timeout = ${STATEMENT_TIMEOUT_MS}`);
        return (await runner.query(sql, [...parameters])) as Row[];
      });
    } catch (cause) {
      // It exceeded the time limit.
      throw sqlStateOf(cause) === SQL_STATES.queryCanceled ? new TooMuchToCountError(cause) : cause;
    }
  }
}

function rangeParameters({ fromMs, untilMs }: TimeRange): readonly [Date, Date | 'infinity'] {
  return [new Date(fromMs), untilMs === null ? 'infinity' : new Date(untilMs)];
}
