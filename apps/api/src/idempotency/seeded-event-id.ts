import { derivedEventId, type EventId } from '#libs/domain';
import type { Identifiers } from '#libs/runtime';

/**
 * Returns the id of the request's event.
 * @param seed gives a repeated request the same ids; `null` for a new id each time
 */
export function seededEventId(identifiers: Identifiers, seed: string | null, index = 0): EventId {
  return seed === null ? identifiers.eventId() : derivedEventId('idempotency', seed, String(index));
}
