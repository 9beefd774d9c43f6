import type { DeliverySettings, EndpointId } from '#libs/domain';
import type { Store } from '../connection/store.js';

/** An active endpoint that limits its attempts. */
export interface PacedEndpoint {
  readonly id: EndpointId;
  readonly maxPerSecond: number | null;
  readonly maxInFlight: number | null;
}

/** Lists the endpoints that limit their attempts, of all orgs. */
export class PacedEndpoints {
  constructor(private readonly store: Store) {}

  async list(): Promise<readonly PacedEndpoint[]> {
    if (!this.store.isOpen) return [];
    const rows = await this.store.prepared<{ id: EndpointId; delivery_settings: Partial<DeliverySettings> | null }>(
      'paced_endpoints',
      'select id, delivery_settings from endpoints where is_paced and is_active order by id',
      [],
    );
    return rows.map(({ id, delivery_settings: settings }) => ({
      id,
      maxPerSecond: settings?.maxPerSecond ?? null,
      maxInFlight: settings?.maxInFlight ?? null,
    }));
  }
}
