import type { PipeTransform } from '@nestjs/common';
import { GaplessError, parseDeliveryId, type DeliveryId } from '#libs/domain';

/** The same error for an id that is unknown, malformed, or of another org or endpoint (contract 8). */
export function noSuchDelivery(): GaplessError {
  return new GaplessError('not_found', 'There is no such delivery.');
}

/** Reads the `:deliveryId` of a path. */
export class DeliveryIdPipe implements PipeTransform<unknown, DeliveryId> {
  /** @throws GaplessError `not_found` */
  transform(value: unknown): DeliveryId {
    const id = parseDeliveryId(value);
    if (id === undefined) throw noSuchDelivery();
    return id;
  }
}
