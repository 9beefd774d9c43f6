import type { EventId } from '../kernel/index.js';

/** The ids of examples start like this, so that readers of the feed and the log do not take them for real events. */
export const EXAMPLE_ID_BEGINNING = 'evt_EXAMPLE';

/** Returns the id of an example, made from a fresh event id (contract 5.1). */
export function exampleEventId(id: EventId): EventId {
  return `${EXAMPLE_ID_BEGINNING}${id.slice('evt_'.length)}` as EventId;
}

/** Whether the event is an example that an operator sent to one endpoint. */
export function isExampleId(id: EventId): boolean {
  return id.startsWith(EXAMPLE_ID_BEGINNING);
}
