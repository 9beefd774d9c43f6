import type { EndpointId } from '#libs/domain';
import type { AttemptCounts, Buckets, EndpointRecord, RecentDeliveries } from '#libs/postgres';
import { endpointStatusJson } from '../webhooks/webhook.presenter.js';
import { bucketStarts } from './activity-buckets.js';

/** The pushes to an endpoint by bucket, oldest first, including empty buckets. */
export interface ActivityJson {
  readonly endpoint_id: string;
  readonly health: ReturnType<typeof endpointStatusJson>;
  readonly buckets: readonly { readonly at: string; readonly delivered: number; readonly failed_attempts: number }[];
}

export function activityJson(
  endpoints: readonly EndpointRecord[],
  buckets: Buckets,
  attempts: readonly AttemptCounts[],
  recent: ReadonlyMap<EndpointId, RecentDeliveries>,
): readonly ActivityJson[] {
  const starts = bucketStarts(buckets).map((at) => at.toISOString());
  const counts = new Map<string, { readonly delivered: number; readonly failed: number }>();
  for (const { endpointId, bucket, delivered, failed } of attempts) {
    const before = counts.get(`${endpointId} ${bucket}`) ?? { delivered: 0, failed: 0 };
    counts.set(`${endpointId} ${bucket}`, { delivered: before.delivered + delivered, failed: before.failed + failed });
  }
  return endpoints.map((endpoint) => ({
    endpoint_id: endpoint.id,
    health: endpointStatusJson(endpoint, recent.get(endpoint.id)),
    buckets: starts.map((at, bucket) => {
      const found = counts.get(`${endpoint.id} ${bucket}`);
      return { at, delivered: found?.delivered ?? 0, failed_attempts: found?.failed ?? 0 };
    }),
  }));
}
