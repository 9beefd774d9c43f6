import { foldDelivery, type DeliveryRef, type Replayed, type Scheduled } from '#libs/domain';
import type { DeliveryRecord } from '#libs/postgres';

/**
 * Returns the delivery as a request has set it: pending, without attempts. The push may have been faster than the answer;
 * what came of it is not the answer to the request (contract 4.1, 5.1).
 */
export function requestedDelivery(delivery: DeliveryRef, request: Scheduled | Replayed): DeliveryRecord {
  const { deliveryId, endpointId, orgId, eventId, event, seq, createdAtMs } = delivery;
  return { deliveryId, endpointId, orgId, eventId, event, seq, createdAtMs, ...foldDelivery(undefined, request) };
}
