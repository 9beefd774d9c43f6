import { batchLimit, type DeliverySettings, type EndpointId, type OrgId } from '#libs/domain';
import { pendingOf } from '../deliveries/pending-of.js';
import { IS_ENDED } from '../projections/seen-deliveries.js';
import { IN_ORDER_OF_INDEX } from '../in-order-of-index.js';
import type { Store } from '../connection/store.js';

/** The health of an endpoint, from its attempts of the last day and its pending ones (contract 3.1). */
export interface EndpointHealthRecord {
  /** Attempts that succeeded and that failed, among the latest 100,000. */
  readonly delivered24h: number;
  readonly failedAttempts24h: number;
  /** At most 10,000. */
  readonly pending: number;
  readonly oldestPendingAt: Date | null;
  readonly lastSuccessAt: Date | null;
  readonly lastFailureAt: Date | null;
  readonly lastError: string | null;
  /** The duration of the latest 1,000 attempts, failed ones included, milliseconds; `null` without any. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}

interface TriedDeliveries {
  readonly tried: number;
  /** Those that failed, or are being retried. */
  readonly failed: number;
}

/** The latest deliveries of an endpoint that were tried, of events of the last hour. */
export interface RecentDeliveries extends TriedDeliveries {
  /** Those of events since the endpoint was last enabled. What failed before that says nothing about it now. */
  readonly sinceEnabled: TriedDeliveries;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** A burst must not make the health of an endpoint expensive: only the latest deliveries count. */
const RECENT = 1_000;
/** How many attempts are counted. A busy endpoint has millions a day. */
const COUNTED = 100_000;

/** Reads the health of endpoints. */
export class EndpointHealthReader {
  constructor(private readonly store: Store) {}

  /** Returns the recent deliveries of all endpoints of the org, or of these. Endpoints without any are missing. */
  async recent(
    orgId: OrgId,
    nowMs: number,
    ids?: readonly EndpointId[],
  ): Promise<ReadonlyMap<EndpointId, RecentDeliveries>> {
    // Each is a range of the index. All statuses together would be all deliveries of the hour.
    const latest = ['pending', 'delivered', 'failed'].map(
      (status) => `(select status, attempts, endings, created_at, seq from deliveries
         where endpoint_id = e.id and status = '${status}' and created_at >= $1
         order by created_at desc, seq desc limit ${RECENT})`,
    );
    const rows = await this.store.forOrg(
      orgId,
      async (runner) =>
        (await runner.query(
          `select e.id, counts.tried, counts.failed, counts.tried_since, counts.failed_since
           from endpoints e
           left join lateral (
             select p.ended_at as at from endpoint_inactive_periods p
             where p.endpoint_id = e.id and p.ended_at is not null order by p.activation desc limit 1
           ) enabled on true
           cross join lateral (
             select (count(*) filter (where attempts > 0 or is_failed))::int as tried,
               (count(*) filter (where is_failed or is_retried))::int as failed,
               (count(*) filter (where is_since and (attempts > 0 or is_failed)))::int as tried_since,
               (count(*) filter (where is_since and (is_failed or is_retried)))::int as failed_since
             from (
               select d.attempts, enabled.at is null or d.created_at >= enabled.at as is_since, d.status = 'failed' or ${IS_ENDED} as is_failed,
                 d.status = 'pending' and d.attempts > 0 as is_retried
               from (${latest.join(' union all ')}) d
               left join endpoint_endings n on n.endpoint_id = e.id
               order by d.created_at desc, d.seq desc limit ${RECENT}
             ) latest
           ) counts
           where counts.tried > 0 and ($2::text[] is null or e.id = any($2))`,
          [new Date(nowMs - HOUR_MS), ids ?? null],
        )) as ({ id: EndpointId; tried_since: number; failed_since: number } & TriedDeliveries)[],
    );
    return new Map(
      rows.map(({ id: endpointId, tried, failed, tried_since: triedSince, failed_since: failedSince }) => [
        endpointId,
        { tried, failed, sinceEnabled: { tried: triedSince, failed: failedSince } },
      ]),
    );
  }

  /** @param settings those of the endpoint: a batch can fail although it was answered with 2xx */
  async read(
    orgId: OrgId,
    id: EndpointId,
    nowMs: number,
    settings: Partial<DeliverySettings> = {},
  ): Promise<EndpointHealthRecord> {
    // The response is in the index, the error is only in the table, where the attempts are scattered.
    const isDelivered =
      batchLimit(settings) === null ? '(response_status between 200 and 299) is true' : 'error is null';
    const [row] = await this.store.forOrg(orgId, async (runner) => {
      await runner.query(IN_ORDER_OF_INDEX);
      return (await runner.query(
        `select counts.delivered_24h, counts.failed_attempts_24h, durations.p50_ms, durations.p95_ms,
           waiting.pending, waiting.oldest_pending_at, h.last_success_at, h.last_failure_at, h.last_error
         from (
           select (count(*) filter (where is_delivered))::int as delivered_24h,
             (count(*) filter (where not is_delivered))::int as failed_attempts_24h
           from (
             select ${isDelivered} as is_delivered from delivery_attempts
             where endpoint_id = $1 and started_at >= $2 order by started_at desc limit ${COUNTED}
           ) counted
         ) counts
         cross join (
           select percentile_disc(0.5) within group (order by duration_ms) as p50_ms,
             percentile_disc(0.95) within group (order by duration_ms) as p95_ms
           from (
             select duration_ms from delivery_attempts
             where endpoint_id = $1 and started_at >= $2 order by started_at desc limit ${RECENT}
           ) measured
         ) durations
         cross join ${pendingOf('$1')} waiting
         left join endpoint_health h on h.endpoint_id = $1`,
        [id, new Date(nowMs - DAY_MS)],
      )) as {
        delivered_24h: number;
        failed_attempts_24h: number;
        p50_ms: number | null;
        p95_ms: number | null;
        pending: number;
        oldest_pending_at: Date | null;
        last_success_at: Date | null;
        last_failure_at: Date | null;
        last_error: string | null;
      }[];
    });
    return {
      delivered24h: row?.delivered_24h ?? 0,
      failedAttempts24h: row?.failed_attempts_24h ?? 0,
      pending: row?.pending ?? 0,
      oldestPendingAt: row?.oldest_pending_at ?? null,
      lastSuccessAt: row?.last_success_at ?? null,
      lastFailureAt: row?.last_failure_at ?? null,
      lastError: row?.last_error ?? null,
      p50Ms: row?.p50_ms ?? null,
      p95Ms: row?.p95_ms ?? null,
    };
  }
}
