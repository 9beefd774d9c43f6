import type { EndpointId } from '#libs/domain';
import type {
  AttemptTotals,
  Buckets,
  EndpointRecord,
  EventCounts,
  FeedBounds,
  Outcomes,
  PushLatency,
  RecentDeliveries,
} from '#libs/postgres';
import { ENDPOINT_STATUSES, endpointStatus, type EndpointStatus } from '../webhooks/webhook.presenter.js';
import { bucketStarts } from './activity-buckets.js';

/** The data of an overview. */
export interface OverviewFigures {
  readonly asOfMs: number;
  readonly buckets: Buckets;
  readonly bounds: FeedBounds;
  readonly lagSeconds: number | null;
  readonly endpoints: readonly EndpointRecord[];
  readonly recent: ReadonlyMap<EndpointId, RecentDeliveries>;
  readonly events: EventCounts;
  readonly attempts: readonly AttemptTotals[];
  readonly outcomes: Outcomes;
  readonly latency: PushLatency;
}

export type OverviewJson = ReturnType<typeof overviewJson>;

export function overviewJson(figures: OverviewFigures) {
  const { bounds, buckets, events, latency } = figures;
  const delivered = sumByBucket(figures.attempts, (counts) => counts.delivered);
  const failed = sumByBucket(figures.attempts, (counts) => counts.failed);
  return {
    as_of: new Date(figures.asOfMs).toISOString(),
    head_seq: bounds.headSeq,
    oldest_seq: bounds.oldestSeq,
    projection_lag_seconds: figures.lagSeconds,
    minutes: bucketStarts(buckets).map((at, minute) => ({
      at: at.toISOString(),
      events: events.get(minute) ?? 0,
      delivered: delivered.get(minute) ?? 0,
      failed_attempts: failed.get(minute) ?? 0,
    })),
    outcomes: figures.outcomes,
    push_latency: { p50_ms: latency.p50Ms, p95_ms: latency.p95Ms, samples: latency.samples },
    endpoints: endpointsByStatus(figures),
  };
}

/** Adds up the attempts in each bucket. */
function sumByBucket(
  attempts: readonly AttemptTotals[],
  count: (counts: AttemptTotals) => number,
): ReadonlyMap<number, number> {
  const sums = new Map<number, number>();
  for (const counts of attempts) sums.set(counts.bucket, (sums.get(counts.bucket) ?? 0) + count(counts));
  return sums;
}

export function endpointsByStatus({
  endpoints,
  recent,
}: Pick<OverviewFigures, 'endpoints' | 'recent'>): Record<EndpointStatus, number> {
  const statuses = endpoints.map((endpoint) => endpointStatus(endpoint, recent.get(endpoint.id)));
  const countOf = (status: EndpointStatus) => statuses.filter((each) => each === status).length;
  return Object.fromEntries(ENDPOINT_STATUSES.map((status) => [status, countOf(status)])) as Record<
    EndpointStatus,
    number
  >;
}
