import type { DeliveryId, EndpointId, EventId, OrgId, Seq } from '../kernel/index.js';

/** Identifies a delivery: the event, the endpoint and when the event was appended. */
export interface DeliveryRef {
  readonly deliveryId: DeliveryId;
  readonly endpointId: EndpointId;
  readonly orgId: OrgId;
  readonly eventId: EventId;
  readonly event: string;
  readonly seq: Seq;
  /** When the event was appended to the log, in epoch milliseconds. It is the delivery's `created_at` in every fact. */
  readonly createdAtMs: number;
  /** The lane in which an ordered delivery waits; missing for all others. */
  readonly lane?: number;
  /** Set if the first run of the delivery passes what waits for the endpoint. */
  readonly isUrgent?: true;
  /**
   * The seq of the event before this one in the endpoint's chain (`previous-seq.ts`). Missing or null if this delivery is
   * in none.
   */
  readonly previousSeq?: number | null;
}

/** A delivery that is sent in the request of another one. */
export interface BatchedDelivery {
  readonly delivery: DeliveryRef;
  readonly attempt: number;
  readonly dueAtMs: number;
  readonly envelope: Buffer;
}

/** An attempt to make: a record of the attempts and retry topics. */
export interface DueAttempt {
  readonly delivery: DeliveryRef;
  /** 0 for the first run of the delivery; each replay adds 1. */
  readonly run: number;
  /** The number of the attempt in its run, from 1: `X-Service-Attempt`. */
  readonly attempt: number;
  /** The earliest time of the attempt, in epoch milliseconds, by the clock of the previous attempt's dispatcher. */
  readonly dueAtMs: number;
  /**
   * How far the delivery log's `next_attempt_at` is ahead of `dueAtMs`, milliseconds; missing for 0 (`attemptLeadMs`).
   */
  readonly leadMs?: number;
  readonly traceparent: string | null;
  /** The stored bytes. */
  readonly envelope: Buffer;
  /** Later deliveries of the same request, by seq; missing if there are none. */
  readonly followers?: readonly BatchedDelivery[];
}

/** How an attempt failed (contract 6.3). */
export type AttemptError =
  'http_status' | 'timeout' | 'dns' | 'connect' | 'tls' | 'blocked_address' | 'token' | 'not_acknowledged';

/** The outcome of an attempt. */
export interface AttemptOutcome {
  /** When the attempt began, in epoch milliseconds of the dispatcher's clock. The signatures carry this time. */
  readonly startedAtMs: number;
  /** From the start to the response, milliseconds, however the clock is set meanwhile. */
  readonly durationMs: number;
  /** From the response to the end of the attempt, milliseconds: a body may take its time. Missing for 0. */
  readonly untilEndMs?: number;
  /** `null` if no response came in time. */
  readonly response: {
    /** The destination's result code; for HTTP, the status. */
    readonly code: number;
    /** The start of the response, 1 KB at most. */
    readonly excerpt: string;
    /** How long the response asks to wait, if it does, milliseconds. */
    readonly retryAfterMs?: number;
  } | null;
  /** How many deliveries of a batch are accepted; missing for a request with one envelope. */
  readonly acknowledged?: number;
  /** `null` exactly when the delivery is accepted, for a batch the first one. */
  readonly error: { readonly kind: AttemptError; readonly detail: string } | null;
  /** Attributes of the attempt's span. */
  readonly attributes: Readonly<Record<string, string | number>>;
}

/** `last_error` as callers see it: the kind, then the detail if there is one. */
export function errorText(error: { readonly kind: string; readonly detail: string }): string {
  return error.detail === '' ? error.kind : `${error.kind}: ${error.detail}`;
}
