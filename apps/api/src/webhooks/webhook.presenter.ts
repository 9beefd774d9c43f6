import { AUTH_TYPES, CLIENT_AUTHS } from '#libs/domain';
import type { EndpointHealthRecord, EndpointRecord, RecentDeliveries } from '#libs/postgres';
import { absentOrNull } from '../http/member-rules.js';
import { COUNT, ENDPOINT_ID, MAYBE_TEXT, MAYBE_TIMESTAMP, objectOf, TIMESTAMP } from '../http/shapes.js';
import { presenter, schemasOf, type ShownMembers } from '../http/shown-members.js';
import {
  eventOrdering,
  goneDisables,
  legacySignature,
  numberInFlight,
  previousSequence,
  ratePerSecond,
  retryAfterRespect,
  signatureKinds,
  urgentTypes,
} from './delivery-members.js';
import {
  endpointDescription,
  endpointName,
  endpointUrl,
  eventFilter,
  someEventTypes,
  widgetIds,
} from './webhook-members.js';

/** An endpoint as contract 3.1 shows it; members without a value are null. */
const MEMBERS = {
  id: [ENDPOINT_ID, ({ id }) => id],
  name: [absentOrNull(endpointName).schema, ({ name }) => name],
  description: [absentOrNull(endpointDescription).schema, ({ description }) => description],
  url: [endpointUrl.schema, ({ url }) => url],
  events: [someEventTypes.schema, ({ events }) => events],
  widget_ids: [absentOrNull(widgetIds).schema, (endpoint) => endpoint.widgetIds],
  filter: [absentOrNull(eventFilter).schema, ({ filter }) => filter],
  is_active: [
    {
      type: 'boolean',
      description: 'Becomes false after `AUTO_DISABLE_AFTER` failed attempts in a row, 20 by default.',
    },
    ({ isActive }) => isActive,
  ],
  failure_count: [
    { ...COUNT, description: 'Failed attempts in a row, over all deliveries. A success resets it to 0.' },
    ({ failureCount }) => failureCount,
  ],
  last_triggered_at: [MAYBE_TIMESTAMP, ({ lastTriggeredAt }) => isoTime(lastTriggeredAt)],
  created_at: [TIMESTAMP, ({ createdAt }) => createdAt.toISOString()],
  header_names: [
    {
      type: 'array',
      items: { type: 'string' },
      description: 'The names of the additional headers. Their values are never shown.',
    },
    ({ shownHeaders }) => shownHeaders?.names ?? [],
  ],
  auth_type: [
    { type: ['string', 'null'], enum: [...AUTH_TYPES, null], description: 'The kind of `auth`.' },
    ({ shownHeaders }) => shownHeaders?.auth ?? null,
  ],
  oauth2: [
    {
      description: 'The shown members of an `auth` of the type `oauth2`; otherwise null.',
      oneOf: [
        objectOf({
          token_url: { type: 'string' },
          client_id: { type: 'string' },
          scope: MAYBE_TEXT,
          audience: MAYBE_TEXT,
          client_auth: { type: 'string', enum: CLIENT_AUTHS },
        }),
        { type: 'null' },
      ],
    },
    ({ shownHeaders }) => shownHeaders?.oauth2 ?? null,
  ],
  client_certificate: [
    {
      description: 'What pushes present in the TLS handshake. The fingerprint is SHA-256; the key is never shown.',
      oneOf: [
        objectOf({ subject: { type: 'string' }, fingerprint: { type: 'string' }, expires_at: TIMESTAMP }),
        { type: 'null' },
      ],
    },
    ({ shownHeaders }) => shownHeaders?.certificate ?? null,
  ],
  legacy_signature: [legacySignature.schema, ({ settings }) => settings.legacySignature],
  signatures: [signatureKinds.schema, ({ settings }) => settings.signatures],
  respect_retry_after: [retryAfterRespect.schema, ({ settings }) => settings.respectRetryAfter],
  disable_on_gone: [goneDisables.schema, ({ settings }) => settings.disableOnGone],
  max_per_second: [absentOrNull(ratePerSecond).schema, ({ settings }) => settings.maxPerSecond],
  max_in_flight: [absentOrNull(numberInFlight).schema, ({ settings }) => settings.maxInFlight],
  ordering: [
    { ...eventOrdering.schema, required: ['by', 'batch'] },
    ({ settings: { ordering } }) => ({ by: ordering.by, batch: ordering.batch }),
  ],
  urgent: [absentOrNull(urgentTypes).schema, ({ settings }) => settings.urgent],
  previous_sequence: [previousSequence.schema, ({ settings }) => settings.previousSequence],
} as const satisfies ShownMembers<EndpointRecord>;

export const webhookJson = presenter<EndpointRecord, typeof MEMBERS>(MEMBERS);

/** The JSON Schemas of its members. */
export const WEBHOOK_SCHEMA = schemasOf<EndpointRecord>(MEMBERS);

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
