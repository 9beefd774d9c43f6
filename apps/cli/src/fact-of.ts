import { decodeFact, type DeliveryFact } from '#libs/domain';
import type { StoredRecord } from '#libs/kafka-log';

/** Returns the delivery fact of a record; `undefined` if the projector puts it into the dead letters. */
export function factOf({ value, unreadable }: StoredRecord): DeliveryFact | undefined {
  return unreadable === undefined ? decodeFact(value) : undefined;
}
