import type { Attempted, DeliveryRef, Ended, Replayed, Scheduled } from '../delivery/index.js';
import { deliveryIdOf, type EndpointId, type EventId, type OrgId, type Seq } from '../kernel/index.js';

/** When the events of these facts were appended, in epoch milliseconds. */
export const CREATED_AT_MS = 1_700_000_000_000;

/** The nth delivery to the endpoint. */
export function aDelivery(nth = 1, endpoint: EndpointId = `whe_${'E'.repeat(26)}` as EndpointId): DeliveryRef {
  const eventId = `evt_${String(nth).padStart(26, '0')}` as EventId;
  return {
    deliveryId: deliveryIdOf(eventId, endpoint),
    endpointId: endpoint,
    orgId: '0f8fad5b-d9cb-469f-a165-70867728950e' as OrgId,
    eventId,
    event: 'ticket.created',
    seq: nth as Seq,
    createdAtMs: CREATED_AT_MS,
  };
}

export function scheduled(delivery = aDelivery()): Scheduled {
  return { type: 'scheduled', delivery };
}

export function replayed(run: number, delivery = aDelivery()): Replayed {
  return { type: 'replayed', delivery, run, atMs: CREATED_AT_MS + run * 1_000_000 };
}

export function ended(run: number, reason: Ended['reason'] = 'endpoint_disabled', delivery = aDelivery()): Ended {
  return { type: 'ended', delivery, run, reason };
}

/** Returns an attempt whose values derive from its number. */
export function attempted(
  run: number,
  attempt: number,
  next: Attempted['next'],
  { delivery = aDelivery(), activation = 1 }: { delivery?: DeliveryRef; activation?: number } = {},
): Attempted {
  const startedAtMs = CREATED_AT_MS + run * 1_000_000 + attempt * 10_000;
  const failed = next !== 'delivered';
  return {
    type: 'attempted',
    delivery,
    run,
    attempt,
    activation,
    startedAtMs,
    durationMs: 100 + attempt,
    responseStatus: failed ? 500 + attempt : 200 + attempt,
    error: failed ? `http_status: ${500 + attempt}` : null,
    responseExcerpt: null,
    next,
    nextAttemptAtMs: next === 'retry' ? startedAtMs + 60_000 : null,
  };
}
