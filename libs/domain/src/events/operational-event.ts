import { derivedEventId, type EndpointId, type EventId } from '../kernel/index.js';
import type { JsonObject } from './data-schemas/json-schema.js';

/** The types of contract 7.5. */
export type OperationalEventType = 'endpoint.failing' | 'endpoint.disabled' | 'endpoint.enabled' | 'delivery.exhausted';

/** Events of `delivery.exhausted` of an endpoint in one such time are one event. */
export const EXHAUSTED_WINDOW_MS = 60_000;

/** What an event of the type is about, as members of its `data` beside `endpoint.id`. The id follows from them. */
const FACTS: Readonly<Record<OperationalEventType, readonly string[]>> = {
  'endpoint.failing': ['activation', 'delivery_id', 'run', 'attempt'],
  'endpoint.disabled': ['activation'],
  'endpoint.enabled': ['activation'],
  'delivery.exhausted': ['minute'],
};

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** Returns the id of the event. The same facts always get the same id, in any process (contract 7.5). */
export function operationalEventId(type: OperationalEventType, endpointId: EndpointId, facts: JsonObject): EventId {
  return derivedEventId('operational', type, endpointId, ...FACTS[type].map((name) => textOf(facts[name])));
}

/** Whether the id is that of the facts in `data`. Others than Gapless do not have such ids by mistake. */
export function isIdOfFacts(id: EventId, type: OperationalEventType, data: JsonObject): boolean {
  const { id: endpointId } = data['endpoint'] as { readonly id: EndpointId };
  return id === operationalEventId(type, endpointId, data);
}

/** Returns the start of the minute that the time is in. */
export function minuteOf(atMs: number): number {
  return atMs - (atMs % EXHAUSTED_WINDOW_MS);
}
