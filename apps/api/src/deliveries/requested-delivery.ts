import { foldDelivery, type DeliveryRef, type Replayed, type Scheduled } from '#libs/domain';
import type { DeliveryRecord } from '#libs/postgres';

/**
 * Returns the delivery as the request leaves it: pending, without attempts. A push that has already ended does not
 * change this answer (contract 4.1, 5.1).
 */
export function requestedDelivery(delivery: DeliveryRef, request: Scheduled | Replayed): DeliveryRecord {
  const { deliveryId, endpointId, orgId, eventId, event, seq, createdAtMs } = delivery;
  return { deliveryId, endpointId, orgId, eventId, event, seq, createdAtMs, ...foldDelivery(undefined, request) };
}
