import { GaplessError, parseDeliveryId } from '#libs/domain';
import { idPipe } from '../http/id-pipe.js';

/** The same error for an id that is unknown, malformed, or of another org or endpoint (contract 8). */
export function noSuchDelivery(): GaplessError {
  return new GaplessError('not_found', 'There is no such delivery.');
}

/** Reads the `:deliveryId` of a path. */
export const DeliveryIdPipe = idPipe(parseDeliveryId, noSuchDelivery);
