import type { EndpointAuth, ShownCertificate, ShownOAuth2 } from '#libs/domain';
import type { EndpointHealthRecord, EndpointRecord, RecentDeliveries } from '#libs/postgres';

/** An endpoint as contract 3.1 shows it; members without a value are null. */
export interface WebhookJson {
  readonly id: string;
  readonly name: string | null;
  readonly description: string | null;
  readonly url: string;
  readonly events: readonly string[];
  readonly widget_ids: readonly string[] | null;
  readonly filter: string | null;
  readonly is_active: boolean;
  readonly failure_count: number;
  readonly last_triggered_at: string | null;
  readonly created_at: string;
  readonly header_names: readonly string[];
  readonly auth_type: EndpointAuth['type'] | null;
  readonly oauth2: ShownOAuth2 | null;
  readonly client_certificate: ShownCertificate | null;
  readonly legacy_signature: boolean;
  readonly signatures: readonly string[];
  readonly respect_retry_after: boolean;
  readonly disable_on_gone: boolean;
  readonly max_per_second: number | null;
  readonly max_in_flight: number | null;
  readonly ordering: { readonly by: string; readonly batch: number };
  readonly urgent: readonly string[] | null;
  readonly previous_sequence: boolean;
}

export function webhookJson(endpoint: EndpointRecord): WebhookJson {
  const { settings, shownHeaders } = endpoint;
  return {
    id: endpoint.id,
    name: endpoint.name,
    description: endpoint.description,
    url: endpoint.url,
    events: endpoint.events,
    widget_ids: endpoint.widgetIds,
    filter: endpoint.filter,
    is_active: endpoint.isActive,
    failure_count: endpoint.failureCount,
    last_triggered_at: isoTime(endpoint.lastTriggeredAt),
    created_at: endpoint.createdAt.toISOString(),
    header_names: shownHeaders?.names ?? [],
    auth_type: shownHeaders?.auth ?? null,
    oauth2: shownHeaders?.oauth2 ?? null,
    client_certificate: shownHeaders?.certificate ?? null,
    legacy_signature: settings.legacySignature,
    signatures: settings.signatures,
    respect_retry_after: settings.respectRetryAfter,
    disable_on_gone: settings.disableOnGone,
    max_per_second: settings.maxPerSecond,
    max_in_flight: settings.maxInFlight,
    ordering: { by: settings.ordering.by, batch: settings.ordering.batch },
    urgent: settings.urgent,
    previous_sequence: settings.previousSequence,
  };
}

/** An endpoint with its new secret. Only the response that creates the secret holds it. */
export function webhookWithSecretJson(endpoint: EndpointRecord, secret: string) {
  return { ...webhookJson(endpoint), secret };
}

/** Returns until when the previous secret also signs; nothing if it stopped at once. */
export function overlapJson({ previousSecretUntil: until }: EndpointRecord) {
  return until === null ? {} : { previous_secret_expires_at: until.toISOString() };
}

export const ENDPOINT_STATUSES = ['healthy', 'failing', 'disabled', 'paused', 'never_tried'] as const;
export type EndpointStatus = (typeof ENDPOINT_STATUSES)[number];

/** The share of recent deliveries that may fail before an endpoint counts as failing. */
const TOLERATED_SHARE = 0.05;

/**
 * Returns how an endpoint is doing. Health is a rate: the share of recent deliveries that failed or are being retried,
 * since it was last enabled. Without recent deliveries, the last attempt since then decides.
 */
export function endpointStatus(endpoint: EndpointRecord, recent: RecentDeliveries | undefined): EndpointStatus {
  if (!endpoint.isActive) return endpoint.disabledReason === 'operator' ? 'paused' : 'disabled';
  const now = recent?.sinceEnabled;
  if (now !== undefined && now.tried > 0) return now.failed / now.tried > TOLERATED_SHARE ? 'failing' : 'healthy';
  if (endpoint.lastTriggeredAt === null) return 'never_tried';
  return endpoint.failureCount > 0 ? 'failing' : 'healthy';
}

/** The status of an endpoint, the recent deliveries that decide it, and since when and why it is disabled. */
export function endpointStatusJson(endpoint: EndpointRecord, recent: RecentDeliveries | undefined) {
  return {
    status: endpointStatus(endpoint, recent),
    recent_deliveries: recent?.tried ?? 0,
    recent_failed: recent?.failed ?? 0,
    disabled_at: isoTime(endpoint.disabledAt),
    disabled_reason: endpoint.disabledReason,
  };
}

/** The delivery health of an endpoint (contract 3.1). */
export function webhookHealthJson(
  endpoint: EndpointRecord,
  health: EndpointHealthRecord,
  recent: RecentDeliveries | undefined,
) {
  return {
    ...endpointStatusJson(endpoint, recent),
    delivered_24h: health.delivered24h,
    failed_attempts_24h: health.failedAttempts24h,
    pending: health.pending,
    oldest_pending_at: isoTime(health.oldestPendingAt),
    last_success_at: isoTime(health.lastSuccessAt),
    last_failure_at: isoTime(health.lastFailureAt),
    last_error: health.lastError,
    p50_ms: health.p50Ms,
    p95_ms: health.p95Ms,
  };
}

function isoTime(date: Date | null): string | null {
  return date?.toISOString() ?? null;
}
