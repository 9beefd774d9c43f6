import type { EndpointId, OrgId, WidgetId } from '#libs/domain';
import { EndpointEntity } from './entities/endpoint.entity.js';
import type { SecretCipher } from './secret-cipher.js';
import type { Store } from './store.js';

/** An endpoint as its owners see it (spec 2.1), without its secret. */
export interface EndpointRecord {
  readonly id: EndpointId;
  readonly orgId: OrgId;
  readonly name: string | null;
  readonly description: string | null;
  readonly url: string;
  readonly events: readonly string[];
  readonly widgetIds: readonly WidgetId[] | null;
  readonly isActive: boolean;
  readonly activation: number;
  readonly disabledAt: Date | null;
  readonly disabledReason: string | null;
  readonly failureCount: number;
  readonly lastTriggeredAt: Date | null;
  readonly createdAt: Date;
}

export interface NewEndpoint {
  readonly id: EndpointId;
  readonly orgId: OrgId;
  readonly name: string | null;
  readonly description: string | null;
  readonly url: string;
  readonly events: readonly string[];
  readonly widgetIds: readonly WidgetId[] | null;
  readonly secret: string;
  readonly createdAt: Date;
}

interface EndpointRow {
  readonly id: EndpointId;
  readonly org_id: OrgId;
  readonly name: string | null;
  readonly description: string | null;
  readonly url: string;
  readonly events: string[];
  readonly widget_ids: WidgetId[] | null;
  readonly is_active: boolean;
  readonly activation: number;
  readonly disabled_at: Date | null;
  readonly disabled_reason: string | null;
  readonly failure_count: number | null;
  readonly last_triggered_at: Date | null;
  readonly created_at: Date;
}

/** Failures of an earlier activation count no more: after enabling, the count is 0 again (decisions, section 4). */
const SELECT = `
  select e.id, e.org_id, e.name, e.description, e.url, e.events, e.widget_ids, e.is_active, e.activation, e.disabled_at,
    e.disabled_reason, e.created_at, h.last_triggered_at,
    case when h.activation = e.activation then h.failure_count end as failure_count
  from endpoints e left join endpoint_health h on h.endpoint_id = e.id`;

function toRecord(row: EndpointRow): EndpointRecord {
  return {
    id: row.id,
    orgId: row.org_id,
    name: row.name,
    description: row.description,
    url: row.url,
    events: row.events,
    widgetIds: row.widget_ids,
    isActive: row.is_active,
    activation: row.activation,
    disabledAt: row.disabled_at,
    disabledReason: row.disabled_reason,
    failureCount: row.failure_count ?? 0,
    lastTriggeredAt: row.last_triggered_at,
    createdAt: row.created_at,
  };
}

/** The endpoints of an org, as records that its operators manage. */
export class EndpointRecords {
  constructor(
    private readonly store: Store,
    private readonly cipher: SecretCipher,
  ) {}

  /** Oldest first. */
  async list(orgId: OrgId): Promise<readonly EndpointRecord[]> {
    return this.store.forOrg(orgId, async (runner) => {
      const rows = (await runner.query(`${SELECT} order by e.created_at, e.id`)) as EndpointRow[];
      return rows.map(toRecord);
    });
  }

  async find(orgId: OrgId, id: EndpointId): Promise<EndpointRecord | undefined> {
    return this.store.forOrg(orgId, async (runner) => {
      const [row] = (await runner.query(`${SELECT} where e.id = $1`, [id])) as EndpointRow[];
      return row === undefined ? undefined : toRecord(row);
    });
  }

  /** @returns `limit_reached` when the org has `limit` endpoints already; then nothing is created */
  async create(endpoint: NewEndpoint, limit: number): Promise<EndpointRecord | 'limit_reached'> {
    return this.store.forOrg(endpoint.orgId, async (runner) => {
      // Two requests at the limit must not both find room.
      await runner.query(`select pg_advisory_xact_lock(hashtextextended('endpoints of ' || $1, 0))`, [endpoint.orgId]);
      if ((await runner.manager.count(EndpointEntity)) >= limit) return 'limit_reached';
      await runner.manager.insert(EndpointEntity, {
        id: endpoint.id,
        orgId: endpoint.orgId,
        name: endpoint.name,
        description: endpoint.description,
        url: endpoint.url,
        events: [...endpoint.events],
        widgetIds: endpoint.widgetIds === null ? null : [...endpoint.widgetIds],
        isActive: true,
        activation: 1,
        secretCiphertext: this.cipher.encrypt(endpoint.secret),
        createdAt: endpoint.createdAt,
      });
      return {
        id: endpoint.id,
        orgId: endpoint.orgId,
        name: endpoint.name,
        description: endpoint.description,
        url: endpoint.url,
        events: endpoint.events,
        widgetIds: endpoint.widgetIds,
        createdAt: endpoint.createdAt,
        isActive: true,
        activation: 1,
        disabledAt: null,
        disabledReason: null,
        failureCount: 0,
        lastTriggeredAt: null,
      };
    });
  }

  /** Deletes the endpoint and its delivery history (spec 4.1). @returns whether there was one */
  async delete(orgId: OrgId, id: EndpointId): Promise<boolean> {
    return this.store.forOrg(orgId, async (runner) => {
      // The projector holds a key-share lock on the row while it writes the history, so nothing comes in behind this.
      const deleted = await runner.manager.delete(EndpointEntity, { id });
      if ((deleted.affected ?? 0) === 0) return false;
      await runner.query('delete from delivery_attempts where endpoint_id = $1', [id]);
      await runner.query('delete from deliveries where endpoint_id = $1', [id]);
      await runner.query('delete from endpoint_health where endpoint_id = $1', [id]);
      return true;
    });
  }
}
