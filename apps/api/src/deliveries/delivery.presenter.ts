import type { DeliveryStatus, JsonObject, Seq } from '#libs/domain';
import type { AttemptLogEntry, DeliveryRecord } from '#libs/postgres';
import { COUNT, DELIVERY_ID, EVENT_ID, MAYBE_INTEGER, MAYBE_TEXT, MAYBE_TIMESTAMP, TIMESTAMP } from '../http/shapes.js';
import { presenter, schemasOf, type Shown, type ShownMembers } from '../http/shown-members.js';

export const DELIVERY_STATUSES: readonly string[] = ['pending', 'delivered', 'failed'] satisfies DeliveryStatus[];
export const DELIVERY_STATUS: JsonObject = { type: 'string', enum: DELIVERY_STATUSES };

const MEMBERS = {
  id: [DELIVERY_ID, ({ deliveryId }) => deliveryId],
  event: [{ type: 'string' }, ({ event }) => event],
  event_id: [EVENT_ID, ({ eventId }) => eventId],
  seq: [
    { ...MAYBE_INTEGER, description: 'null only in the response to a test whose event has no seq yet.' },
    ({ seq }): Seq | null => seq,
  ],
  status: [DELIVERY_STATUS, ({ status }) => status],
  attempts: [COUNT, ({ attempts }) => attempts],
  response_status: [MAYBE_INTEGER, ({ responseStatus }) => responseStatus],
  last_error: [
    {
      ...MAYBE_TEXT,
      description:
        'http_status, timeout, dns, connect, tls, blocked_address, token, not_acknowledged, skipped, endpoint_disabled or endpoint_deleted, and `: detail` where there is one.',
    },
    ({ lastError }) => lastError,
  ],
  next_attempt_at: [MAYBE_TIMESTAMP, ({ nextAttemptAtMs }) => shownTime(nextAttemptAtMs)],
  delivered_at: [MAYBE_TIMESTAMP, ({ deliveredAtMs }) => shownTime(deliveredAtMs)],
  created_at: [TIMESTAMP, ({ createdAtMs }) => new Date(createdAtMs).toISOString()],
} as const satisfies ShownMembers<DeliveryRecord>;

/** A delivery as contract 3.5 shows it. */
export type DeliveryJson = Shown<typeof MEMBERS>;

export const deliveryJson = presenter<DeliveryRecord, typeof MEMBERS>(MEMBERS);

/** The JSON Schemas of its members. */
export const DELIVERY_SCHEMA = schemasOf<DeliveryRecord>(MEMBERS);

/** A time as the API shows it. */
export function shownTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** An entry of `attempts_log` (contract 3.5). */
export function attemptJson(entry: AttemptLogEntry) {
  return {
    attempt: entry.attempt,
    due_at: entry.dueAt?.toISOString() ?? null,
    waited_for: entry.waitedFor,
    at: entry.at.toISOString(),
    duration_ms: entry.durationMs,
    response_status: entry.responseStatus,
    error: entry.error,
    response_excerpt: entry.responseExcerpt,
    batch: entry.batch === null ? null : { first_seq: entry.batch[0], last_seq: entry.batch[1] },
  };
}
