import { encodeFact, factEndpointId, type DeliveryFact } from '#libs/domain';
import type { NewRecord } from './record.js';

/** Makes a record of the deliveries topic, keyed by endpoint id so that an endpoint's facts stay in order. */
export function factRecord(topic: string, fact: DeliveryFact): NewRecord {
  return { topic, key: factEndpointId(fact), value: encodeFact(fact) };
}
