import type {
  AttemptCounts,
  Buckets,
  DeliveryFigures,
  EndpointRecord,
  EventCounts,
  FeedBounds,
} from '#libs/feed-store';
import { endpointStatus, type EndpointStatus } from '../webhooks/webhook.presenter.js';
import { bucketStarts } from './activity-buckets.js';

/** All that an overview is made of. */
export interface OverviewFigures {
  readonly asOfMs: number;
  readonly buckets: Buckets;
  readonly bounds: FeedBounds;
  readonly lagSeconds: number | null;
  readonly endpoints: readonly EndpointRecord[];
  readonly events: EventCounts;
  readonly attempts: readonly AttemptCounts[];
  readonly deliveries: DeliveryFigures;
}

export type OverviewJson = ReturnType<typeof overviewJson>;

export function overviewJson(figures: OverviewFigures) {
  const { bounds, buckets, deliveries, events } = figures;
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
    outcomes: { delivered: deliveries.delivered, failed: deliveries.failed, pending: deliveries.pending },
    push_latency: { p50_ms: deliveries.p50Ms, p95_ms: deliveries.p95Ms, samples: deliveries.samples },
    endpoints: endpointsByStatus(figures.endpoints),
  };
}

/** Over all endpoints. */
function sumByBucket(
  attempts: readonly AttemptCounts[],
  count: (counts: AttemptCounts) => number,
): ReadonlyMap<number, number> {
  const sums = new Map<number, number>();
  for (const counts of attempts) sums.set(counts.bucket, (sums.get(counts.bucket) ?? 0) + count(counts));
  return sums;
}

function endpointsByStatus(endpoints: readonly EndpointRecord[]): Record<EndpointStatus, number> {
  const counts: Record<EndpointStatus, number> = { healthy: 0, failing: 0, disabled: 0 };
  for (const endpoint of endpoints) counts[endpointStatus(endpoint)]++;
  return counts;
}
