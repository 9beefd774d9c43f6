import type { DeliveryRef } from '../attempt.js';
import type { EndpointId, OrgId } from '../../kernel/index.js';

/** Why a delivery ended before its attempts were used up. */
export type EndReason = 'endpoint_disabled' | 'endpoint_deleted' | 'skipped';

/** The router found that the endpoint receives the event. */
export interface Scheduled {
  readonly type: 'scheduled';
  readonly delivery: DeliveryRef;
}

/**
 * What an attempt that is due waits for: its turn in the order of its endpoint, the endpoint's limits, or the slow lane.
 */
export type WaitedFor = 'order' | 'pace' | 'slow_lane';

/** An attempt was made. `next` is its consequence. */
export interface Attempted {
  readonly type: 'attempted';
  readonly delivery: DeliveryRef;
  readonly run: number;
  readonly attempt: number;
  /** The endpoint's activation at the time of the attempt. */
  readonly activation: number;
  /** The time in the delivery log: never before `created_at`, or before the attempt was due. */
  readonly startedAtMs: number;
  /**
   * How far `startedAtMs` is ahead of the dispatcher's clock, which stamped the signatures, milliseconds; missing for
   * 0.
   */
  readonly leadMs?: number;
  /** When the attempt was due, in the time of the delivery log; missing in facts of earlier versions. */
  readonly dueAtMs?: number;
  /** What decided when the attempt began after that; missing for attempts that begin at once. */
  readonly waitedFor?: WaitedFor;
  readonly durationMs: number;
  readonly responseStatus: number | null;
  readonly error: string | null;
  readonly responseExcerpt: string | null;
  readonly next: 'delivered' | 'retry' | 'exhausted';
  /** The time in the delivery log: never before the end of this attempt. */
  readonly nextAttemptAtMs: number | null;
  /** The seqs of the first and last event of the request, if it was a batch. */
  readonly batch?: readonly [first: number, last: number];
  /** Set if the response disables the endpoint. */
  readonly disables?: true;
}

/** An operator replayed the stored delivery (contract 4.1). */
export interface Replayed {
  readonly type: 'replayed';
  readonly delivery: DeliveryRef;
  readonly run: number;
  readonly atMs: number;
}

/** The endpoint takes no more attempts of this delivery. */
export interface Ended {
  readonly type: 'ended';
  readonly delivery: DeliveryRef;
  readonly run: number;
  readonly reason: EndReason;
}

/** An operator made the endpoint inactive: all its pending deliveries end. */
export interface EndpointDisabled {
  readonly type: 'endpoint_disabled';
  readonly endpointId: EndpointId;
  readonly orgId: OrgId;
  readonly activation: number;
  readonly atMs: number;
}

/** A record of the deliveries topic, keyed by endpoint id. */
export type DeliveryFact = Scheduled | Attempted | Replayed | Ended | EndpointDisabled;

export function factEndpointId(fact: DeliveryFact): EndpointId {
  return fact.type === 'endpoint_disabled' ? fact.endpointId : fact.delivery.endpointId;
}
