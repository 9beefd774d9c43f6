import { derivedEventId, keyedEventId, type EndpointId, type EventId } from '../kernel/index.js';
import type { JsonObject } from './data-schemas/json-schema.js';

/** The types of contract 7.5. */
export type OperationalEventType = 'endpoint.failing' | 'endpoint.disabled' | 'endpoint.enabled' | 'delivery.exhausted';

/** Events of `delivery.exhausted` of an endpoint in one such time are one event. */
export const EXHAUSTED_WINDOW_MS = 60_000;

/** How long it is known that an operational event was published. */
export const OPERATIONAL_EVENTS_KEPT_MS = 86_400_000;

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

/** The ids of operational events start like this. Producers cannot choose such ids over HTTP. */
const OPERATIONAL = 'evt_OPERATIONAL';

/** Returns what stands for the facts: the same for the same facts, in any process. Anyone who knows them can compute it. */
export function operationalFactsId(type: OperationalEventType, endpointId: EndpointId, facts: JsonObject): string {
  return derivedEventId('operational', type, endpointId, ...FACTS[type].map((name) => textOf(facts[name])));
}

/**
 * Returns the id of the event of these facts (contract 7.5). Without the key nobody knows it before the event is in the
 * log, so nobody can give it to another event first.
 */
export function operationalEventId(key: Buffer, factsId: string): EventId {
  return `${OPERATIONAL}${keyedEventId(key, factsId).slice('evt_'.length)}` as EventId;
}

/** Whether the id has the form of those of operational events. Others than Gapless do not have such ids by mistake. */
export function isOperationalId(id: EventId): boolean {
  return id.startsWith(OPERATIONAL);
}

/** Returns the start of the minute that the time is in. */
export function minuteOf(atMs: number): number {
  return atMs - (atMs % EXHAUSTED_WINDOW_MS);
}
