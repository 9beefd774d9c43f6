import type { DeliveryId, EndpointId, EventId, OrgId, Seq } from '../kernel/index.js';

/** Which delivery: the event, the endpoint and when the event was appended. */
export interface DeliveryRef {
  readonly deliveryId: DeliveryId;
  readonly endpointId: EndpointId;
  readonly orgId: OrgId;
  readonly eventId: EventId;
  readonly event: string;
  readonly seq: Seq;
  /** When the event was appended to the log, in epoch milliseconds: the delivery's `created_at`, in every fact of it. */
  readonly createdAtMs: number;
}

/** An attempt that is to be made: the record of the attempts and retry topics. */
export interface DueAttempt {
  readonly delivery: DeliveryRef;
  /** 0 for the delivery as it was routed; each replay raises it. */
  readonly run: number;
  /** From 1 in each run: `X-Service-Attempt`. */
  readonly attempt: number;
  /** Not to be made before this time, in epoch milliseconds, by the clock of the dispatcher that made the one before. */
  readonly dueAtMs: number;
  /** How far `next_attempt_at`, as the delivery log shows it, is ahead of `dueAtMs`; missing for 0 (`attemptLeadMs`). */
  readonly leadMs?: number;
  readonly traceparent: string | null;
  /** The stored bytes. */
  readonly envelope: Buffer;
}

/** How an attempt failed (contract 6.3). */
export type AttemptError = 'http_status' | 'timeout' | 'dns' | 'connect' | 'tls' | 'blocked_address';

/** The outcome of an attempt. */
export interface AttemptOutcome {
  /** When it was begun, by the dispatcher's clock. The signatures are stamped with it. */
  readonly startedAtMs: number;
  /** From then to the response, by the same clock. */
  readonly durationMs: number;
  /** `null` if none came in time. */
  readonly response: {
    /** What the destination calls it by; the status of HTTP. */
    readonly code: number;
    /** At most 1 KB of it. */
    readonly excerpt: string;
  } | null;
  /** `null` exactly when the delivery is accepted. */
  readonly error: { readonly kind: AttemptError; readonly detail: string } | null;
  /** For the span of the attempt. */
  readonly attributes: Readonly<Record<string, string | number>>;
}

/** `last_error` as callers see it: the class, then the detail where there is one. */
export function errorText(error: { readonly kind: string; readonly detail: string }): string {
  return error.detail === '' ? error.kind : `${error.kind}: ${error.detail}`;
}
