import { NO_ORDERING, type DeliverySettings, type EndpointId, type Ordering, type OrgId } from '#libs/domain';
import type { Store } from '../connection/store.js';

/** An endpoint that limits or orders its attempts. */
export interface PacedEndpoint {
  readonly id: EndpointId;
  readonly orgId: OrgId;
  readonly maxPerSecond: number | null;
  readonly maxInFlight: number | null;
  readonly ordering: Ordering;
  /** Since when it has been ordered without a break, epoch milliseconds; `null` if it is not. */
  readonly orderedSinceMs: number | null;
  /** Whether the order has begun: since the endpoint was created, or as `orderBegins` noted. */
  readonly isOrderBegun: boolean;
}

interface Row {
  readonly id: EndpointId;
  readonly org_id: OrgId;
  readonly delivery_settings: Partial<DeliverySettings> | null;
  readonly ordered_since: Date | null;
  readonly created_at: Date;
  readonly order_begun: Date | null;
}

/**
 * Lists the endpoints that limit or order their attempts, of all orgs, also inactive ones. When one is enabled, its limits and
 * what is still under way to it must be known before its next attempt.
 */
export class PacedEndpoints {
  constructor(private readonly store: Store) {}

  async list(): Promise<readonly PacedEndpoint[]> {
    if (!this.store.isOpen) return [];
    const rows = await this.store.prepared<Row>(
      'paced_endpoints',
      `select id, org_id, delivery_settings, ordered_since, created_at, order_begun
       from endpoints where is_paced order by id`,
      [],
    );
    return rows.map(({ id, org_id: orgId, delivery_settings: settings, ...row }) => {
      const orderedSinceMs = row.ordered_since?.getTime() ?? null;
      return {
        id,
        orgId,
        maxPerSecond: settings?.maxPerSecond ?? null,
        maxInFlight: settings?.maxInFlight ?? null,
        ordering: settings?.ordering ?? NO_ORDERING,
        orderedSinceMs,
        isOrderBegun: [row.created_at, row.order_begun].some((begun) => begun?.getTime() === orderedSinceMs),
      };
    });
  }

  /** Notes that the order of each endpoint has begun, unless it was changed since then. */
  async orderBegins(endpoints: readonly Pick<PacedEndpoint, 'id' | 'orderedSinceMs'>[]): Promise<void> {
    await this.store.prepared(
      'order_begins',
      `update endpoints set order_begun = ordered_since
       from unnest($1::text[], $2::timestamptz[]) as begins(id, since)
       where endpoints.id = begins.id and endpoints.ordered_since = begins.since`,
      [
        endpoints.map(({ id }) => id),
        endpoints.map(({ orderedSinceMs }) => (orderedSinceMs === null ? null : new Date(orderedSinceMs))),
      ],
    );
  }
}
