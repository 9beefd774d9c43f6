import type { ListedOrg, NamedWidget, OrgDay, OrgRecord, PendingDeliveries } from '#libs/postgres';
import type { EndpointStatus } from '../webhooks/webhook.presenter.js';

export function listedOrgJson(org: ListedOrg) {
  return {
    org_id: org.orgId,
    name: org.name,
    metadata: org.metadata,
    created_at: org.createdAt.toISOString(),
    updated_at: org.updatedAt.toISOString(),
  };
}

export function widgetsJson(widgets: readonly NamedWidget[]) {
  return widgets.map(({ id, name }) => ({ id, name }));
}

export function orgJson(org: OrgRecord) {
  return { ...listedOrgJson(org), widgets: widgetsJson(org.widgets) };
}

/** The data of an org's statistics. */
export interface OrgFigures {
  readonly asOfMs: number;
  readonly headSeq: number;
  readonly oldestSeq: number;
  readonly lagSeconds: number | null;
  readonly endpoints: Readonly<Record<EndpointStatus, number>>;
  readonly pending: PendingDeliveries;
  readonly days: readonly OrgDay[];
}

export function orgStatisticsJson(figures: OrgFigures) {
  return {
    as_of: new Date(figures.asOfMs).toISOString(),
    head_seq: figures.headSeq,
    oldest_seq: figures.oldestSeq,
    projection_lag_seconds: figures.lagSeconds,
    endpoints: figures.endpoints,
    pending: figures.pending.count,
    oldest_pending_at: figures.pending.oldestAt?.toISOString() ?? null,
    days: figures.days.map(({ startMs, events, bytes, attempts }) => ({
      day: new Date(startMs).toISOString().slice(0, 10),
      events,
      bytes,
      delivered: attempts?.delivered ?? null,
      failed_attempts: attempts?.failed ?? null,
    })),
  };
}
