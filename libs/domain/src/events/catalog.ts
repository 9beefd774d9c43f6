import { callRequestEvents } from './call-request-events.js';
import type { CatalogEntry, EventScope } from './catalog-entry.js';
import { conversationEvents } from './conversation-events.js';
import { helpDeskContentEvents } from './help-desk-content-events.js';
import type { OperationalEventType } from './operational-event.js';
import { operationsEvents } from './operations-events.js';
import { testEvents } from './test-event.js';
import { ticketEvents } from './ticket-events.js';
import { verificationEvents } from './verification-events.js';
import { visitorEvents } from './visitor-events.js';

const entries = [
  ...conversationEvents,
  ...ticketEvents,
  ...visitorEvents,
  ...callRequestEvents,
  ...verificationEvents,
  ...helpDeskContentEvents,
  ...operationsEvents,
  ...testEvents,
] as const;

/** An event type of the past or present: the catalog of contract 7.1, and `lead.captured` of contract 7.2. */
export type EventType = (typeof entries)[number]['event'];

/** The catalog (contract 7.1), family by family. */
export const CATALOG: readonly CatalogEntry<EventType>[] = entries;

/** All the types of the catalog, in its order. */
export const EVENT_TYPES: readonly EventType[] = CATALOG.map((entry) => entry.event);

// A map and not an object, since callers look up any name, such as `constructor`.
const byType = new Map<string, CatalogEntry<EventType>>(CATALOG.map((entry) => [entry.event, entry]));

/** Whether the text names a type of the catalog. */
export function isEventType(text: string): text is EventType {
  return byType.has(text);
}

/** Returns the catalog's entry of the type. */
export function catalogEntry(type: EventType): CatalogEntry<EventType> {
  const entry = byType.get(type);
  if (entry === undefined) throw new RangeError(`not an event type: ${type}`);
  return entry;
}

/** Whether producers may submit events of the type. They may not submit `test`, deprecated or operational types. */
export function isIngestable(text: string): text is EventType {
  return isEventType(text) && text !== 'test' && !catalogEntry(text).deprecated && !catalogEntry(text).operational;
}

/** Whether only Gapless raises events of the type, in the operations organization (contract 7.5). */
export function isOperational(text: string): text is OperationalEventType {
  return byType.get(text)?.operational === true;
}

/** Whether an endpoint may subscribe to the type. All but `test`; `lead.captured` is allowed, but never occurs. */
export function isSubscribable(text: string): text is EventType {
  return isEventType(text) && text !== 'test';
}

/** Whether the feed can be filtered by the type: any type of the catalog, or `test`. */
export function isFeedFilter(text: string): text is EventType {
  return isEventType(text);
}

/** Whether events of the type may name a widget (`widget`) or must have `widget_id` null (`org`; contract 7.3). */
export function eventScope(type: EventType): EventScope {
  return catalogEntry(type).scope;
}
