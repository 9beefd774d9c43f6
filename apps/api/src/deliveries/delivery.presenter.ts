import type { AttemptLogEntry, DeliveryRecord } from '#libs/postgres';

/** A delivery as contract 3.5 shows it. `seq` is null for a test event that is not sequenced yet. */
export interface DeliveryJson {
  readonly id: string;
  readonly event: string;
  readonly event_id: string;
  readonly seq: number | null;
  readonly status: string;
  readonly attempts: number;
  readonly response_status: number | null;
  readonly last_error: string | null;
  readonly next_attempt_at: string | null;
  readonly delivered_at: string | null;
  readonly created_at: string;
}

export function deliveryJson(delivery: DeliveryRecord): DeliveryJson {
  return {
    id: delivery.deliveryId,
    event: delivery.event,
    event_id: delivery.eventId,
    seq: delivery.seq,
    status: delivery.status,
    attempts: delivery.attempts,
    response_status: delivery.responseStatus,
    last_error: delivery.lastError,
    next_attempt_at: shownTime(delivery.nextAttemptAtMs),
    delivered_at: shownTime(delivery.deliveredAtMs),
    created_at: new Date(delivery.createdAtMs).toISOString(),
  };
}

/** A time as the API shows it. */
export function shownTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** An entry of `attempts_log` (contract 3.5). */
export function attemptJson(entry: AttemptLogEntry) {
  return {
    attempt: entry.attempt,
    at: entry.at.toISOString(),
    duration_ms: entry.durationMs,
    response_status: entry.responseStatus,
    error: entry.error,
    response_excerpt: entry.responseExcerpt,
  };
}
