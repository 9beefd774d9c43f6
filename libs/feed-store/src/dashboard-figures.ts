import type { EndpointId, OrgId } from '#libs/domain';
import type { Store } from './store.js';

/** Equal stretches of time, one behind the other. */
export interface Buckets {
  readonly startMs: number;
  readonly sizeMs: number;
  readonly count: number;
}

/** How many events were appended in a bucket; buckets without any are missing. */
export type EventCounts = ReadonlyMap<number, number>;

/** Attempts that began in a bucket, by how they ended. */
export interface AttemptCounts {
  readonly endpointId: EndpointId;
  readonly bucket: number;
  readonly delivered: number;
  readonly failed: number;
}

/** What became of the deliveries of events that were appended since some time. */
export interface DeliveryFigures {
  readonly delivered: number;
  readonly failed: number;
  readonly pending: number;
  /** From the event's append to the answer, milliseconds; replays do not count. `null` without any. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  /** How many deliveries they are taken from. */
  readonly samples: number;
}

/** What the percentiles are taken from at most, of each endpoint: the latest. */
const LATENCY_SAMPLES = 2_000;

/**
 * Since `seq` counts without a gap, the events between two of them are their difference: only the edges of the buckets are
 * looked for, by bisection. `seq` and time ascend together, so a stretch that begins and ends in one bucket lies in it.
 *
 * `bucket` of what lies before the first one is -1. A partition is a day, so the last event before the first bucket is
 * looked for in the day before, and if there is none, the first event of all is.
 */
const COUNT_EVENTS = `
  with recursive edges as materialized (
    select first.seq - 1 as low, last.seq as high,
      greatest(-1, floor(extract(epoch from last.appended_at - $2) / $3))::int as high_bucket
    from (
      select seq from events where org_id = $1 and appended_at >= $2::timestamptz - interval '1 day' order by seq limit 1
    ) first
    cross join (
      select seq, appended_at from events where org_id = $1 and appended_at >= $2::timestamptz - interval '1 day'
      order by seq desc limit 1
    ) last
  ), stretch (low, low_bucket, high, high_bucket) as (
    select low, -1, high, high_bucket from edges
    union all
    select half.* from stretch
    cross join lateral (
      select seq, greatest(-1, floor(extract(epoch from appended_at - $2) / $3))::int as bucket from events
      where org_id = $1 and seq = (stretch.low + stretch.high) / 2 and appended_at >= $2::timestamptz - interval '1 day'
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

/** Reads what the dashboard shows at a glance: counts over a window, each by an index that is there for something else. */
export class DashboardFigures {
  constructor(private readonly store: Store) {}

  /** Of an org's events, by the time at which they were appended. */
  async eventCounts(orgId: OrgId, buckets: Buckets): Promise<EventCounts> {
    return this.store.forOrg(orgId, async (runner) => {
      const rows = (await runner.query(COUNT_EVENTS, [orgId, new Date(buckets.startMs), buckets.sizeMs / 1_000])) as {
        bucket: number;
        events: number;
      }[];
      return new Map(rows.map(({ bucket, events }) => [bucket, events]));
    });
  }

  /** Of the attempts of an org's endpoints, or of one of them; buckets without any are missing. */
  async attemptCounts(orgId: OrgId, buckets: Buckets, endpointId?: EndpointId): Promise<readonly AttemptCounts[]> {
    return this.store.forOrg(orgId, async (runner) => {
      const rows = (await runner.query(
        `select a.endpoint_id, floor(extract(epoch from a.started_at - $1) / $2)::int as bucket,
           (count(*) filter (where a.error is null))::int as delivered,
           (count(*) filter (where a.error is not null))::int as failed
         from endpoints e join delivery_attempts a on a.endpoint_id = e.id
         where a.started_at >= $1 and ($3::text is null or e.id = $3)
         group by 1, 2`,
        [new Date(buckets.startMs), buckets.sizeMs / 1_000, endpointId ?? null],
      )) as { endpoint_id: EndpointId; bucket: number; delivered: number; failed: number }[];
      return rows.map(({ endpoint_id, ...row }) => ({ endpointId: endpoint_id, ...row }));
    });
  }

  /** Of the deliveries of the org's endpoints whose events were appended since then. */
  async deliveries(orgId: OrgId, since: Date): Promise<DeliveryFigures> {
    const [row] = await this.store.forOrg(
      orgId,
      async (runner) =>
        (await runner.query(
          `select coalesce(sum(delivered), 0)::int as delivered, coalesce(sum(failed), 0)::int as failed,
             coalesce(sum(pending), 0)::int as pending, latency.*
           from endpoints e
           cross join lateral (
             select count(*) filter (where status = 'delivered') as delivered,
               count(*) filter (where status = 'failed') as failed,
               count(*) filter (where status = 'pending') as pending
             from deliveries where endpoint_id = e.id and created_at >= $1
           ) outcomes
           cross join (
             select count(*)::int as samples, percentile_disc(0.5) within group (order by ms) as p50_ms,
               percentile_disc(0.95) within group (order by ms) as p95_ms
             from endpoints e
             cross join lateral (
               select (extract(epoch from delivered_at - created_at) * 1000)::int as ms from deliveries
               where endpoint_id = e.id and created_at >= $1 and status = 'delivered' and run = 0
               order by created_at desc, seq desc limit ${LATENCY_SAMPLES}
             ) latest
           ) latency
           group by samples, p50_ms, p95_ms`,
          [since],
        )) as {
          delivered: number;
          failed: number;
          pending: number;
          samples: number;
          p50_ms: number | null;
          p95_ms: number | null;
        }[],
    );
    return {
      delivered: row?.delivered ?? 0,
      failed: row?.failed ?? 0,
      pending: row?.pending ?? 0,
      p50Ms: row?.p50_ms ?? null,
      p95Ms: row?.p95_ms ?? null,
      samples: row?.samples ?? 0,
    };
  }
}
