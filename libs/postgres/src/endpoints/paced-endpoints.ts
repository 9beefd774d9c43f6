import { NO_ORDERING, type DeliverySettings, type EndpointId, type Ordering, type OrgId } from '#libs/domain';
import type { Store } from '../connection/store.js';

/** An active endpoint that limits or orders its attempts. */
export interface PacedEndpoint {
  readonly id: EndpointId;
  readonly orgId: OrgId;
  readonly maxPerSecond: number | null;
  readonly maxInFlight: number | null;
  readonly ordering: Ordering;
  /** Since when it has been ordered without a break, epoch milliseconds; `null` if it is not. */
  readonly orderedSinceMs: number | null;
  /** Whether it has been ordered since it was created. */
  readonly isOrderedFromStart: boolean;
}

interface Row {
  readonly id: EndpointId;
  readonly org_id: OrgId;
  readonly delivery_settings: Partial<DeliverySettings> | null;
  readonly ordered_since: Date | null;
  readonly created_at: Date;
}

/** Lists the endpoints that limit or order their attempts, of all orgs. */
export class PacedEndpoints {
  constructor(private readonly store: Store) {}

  async list(): Promise<readonly PacedEndpoint[]> {
    if (!this.store.isOpen) return [];
    const rows = await this.store.prepared<Row>(
      'paced_endpoints',
      `select id, org_id, delivery_settings, ordered_since, created_at
       from endpoints where is_paced and is_active order by id`,
      [],
    );
    return rows.map(
      ({ id, org_id: orgId, delivery_settings: settings, ordered_since: since, created_at: createdAt }) => ({
        id,
        orgId,
        maxPerSecond: settings?.maxPerSecond ?? null,
        maxInFlight: settings?.maxInFlight ?? null,
        ordering: settings?.ordering ?? NO_ORDERING,
        orderedSinceMs: since?.getTime() ?? null,
        isOrderedFromStart: since?.getTime() === createdAt.getTime(),
      }),
    );
  }
}
