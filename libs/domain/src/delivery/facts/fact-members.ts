import type { DeliveryRef } from '../attempt.js';
import {
  isStorableCount,
  isStorableText,
  isStorableTime,
  parseDeliveryId,
  parseEndpointId,
  parseEventId,
  parseOrgId,
} from '../../kernel/index.js';
import type { Attempted, DeliveryFact } from './delivery-fact.js';

type MemberOf<T> = T extends unknown ? keyof T : never;
type Unknown<T> = { readonly [member in MemberOf<T>]?: unknown };
/** JSON that may be a fact. */
export type UnknownFact = Unknown<DeliveryFact>;

const NEXT: readonly unknown[] = ['delivered', 'retry', 'exhausted'] satisfies readonly Attempted['next'][];
const LAST_LANE = 2 ** 15 - 1;

function isNoneOr(value: unknown, is: (value: unknown) => boolean): boolean {
  return value === undefined || value === null || is(value);
}

function isDelivery(value: unknown): value is DeliveryRef {
  const delivery = (value ?? {}) as Unknown<DeliveryRef>;
  return (
    parseDeliveryId(delivery.deliveryId) !== undefined &&
    parseEndpointId(delivery.endpointId) !== undefined &&
    parseOrgId(delivery.orgId) !== undefined &&
    parseEventId(delivery.eventId) !== undefined &&
    isStorableText(delivery.event) &&
    Number.isSafeInteger(delivery.seq) &&
    isStorableTime(delivery.createdAtMs) &&
    isNoneOr(delivery.lane, (lane) => isStorableCount(lane, LAST_LANE)) &&
    isNoneOr(delivery.isUrgent, (flag) => typeof flag === 'boolean') &&
    isNoneOr(delivery.previousSeq, Number.isSafeInteger)
  );
}

function isBatch(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && value.every(Number.isSafeInteger);
}

function isAttempt(fact: UnknownFact): boolean {
  return (
    [fact.run, fact.attempt, fact.activation, fact.durationMs].every((count) => isStorableCount(count)) &&
    isStorableTime(fact.startedAtMs) &&
    NEXT.includes(fact.next) &&
    [fact.dueAtMs, fact.nextAttemptAtMs].every((time) => isNoneOr(time, isStorableTime)) &&
    // Without that time, the delivery would be pending for ever.
    (fact.next !== 'retry' || isStorableTime(fact.nextAttemptAtMs)) &&
    [fact.waitedFor, fact.error, fact.responseExcerpt].every((text) => isNoneOr(text, isStorableText)) &&
    isNoneOr(fact.responseStatus, isStorableCount) &&
    isNoneOr(fact.leadMs, Number.isSafeInteger) &&
    isNoneOr(fact.batch, isBatch)
  );
}

/** Whether the fact has the members of its type, with values that the delivery log can store. */
export function isFact(fact: UnknownFact): fact is DeliveryFact {
  switch (fact.type) {
    case 'scheduled':
      return isDelivery(fact.delivery);
    case 'attempted':
      return isDelivery(fact.delivery) && isAttempt(fact);
    case 'replayed':
      return isDelivery(fact.delivery) && isStorableCount(fact.run) && isStorableTime(fact.atMs);
    case 'ended':
      return isDelivery(fact.delivery) && isStorableCount(fact.run) && isStorableText(fact.reason);
    case 'endpoint_disabled':
      return (
        parseEndpointId(fact.endpointId) !== undefined &&
        parseOrgId(fact.orgId) !== undefined &&
        isStorableCount(fact.activation) &&
        isStorableTime(fact.atMs)
      );
    default:
      return false;
  }
}
