import { CATALOG, type CatalogEntry, type JsonObject } from '../events/index.js';
import { MAX_FILTER, MAX_SUBJECT } from './subscription-filter.js';

/** How a subscriber can receive events of a type. */
export type DeliveryMode = 'poll' | 'push' | 'webhook';

/** An event type as `events/list` shows it. */
export interface EventDescriptor {
  readonly name: string;
  readonly description: string;
  readonly delivery: readonly DeliveryMode[];
  readonly inputSchema: JsonObject;
  readonly payloadSchema: JsonObject;
}

const WIDGET_ID: JsonObject = {
  type: 'string',
  format: 'uuid',
  description: 'Only events of this widget. Default: every widget, and events without one.',
};

const FILTER: JsonObject = {
  type: 'string',
  minLength: 1,
  maxLength: MAX_FILTER,
  description: 'Only events for which this CEL expression is not false, such as event.data.priority == "high".',
};

function subjectSchema(subject: string): JsonObject {
  return {
    type: 'string',
    minLength: 1,
    maxLength: MAX_SUBJECT,
    description: `Only events about the thing with this id, which is data.${subject}.`,
  };
}

function descriptorOf({ event, description, scope, subject, schema }: CatalogEntry): EventDescriptor {
  return {
    name: event,
    description,
    // A test event is pushed to the endpoint alone that it was sent to.
    delivery: event === 'test' ? ['poll', 'push'] : ['poll', 'push', 'webhook'],
    inputSchema: {
      type: 'object',
      properties: {
        ...(scope === 'widget' ? { widget_id: WIDGET_ID } : {}),
        ...(subject === null ? {} : { subject: subjectSchema(subject) }),
        filter: FILTER,
      },
      additionalProperties: false,
    },
    payloadSchema: schema,
  };
}

/** Every event type that occurs, in the catalog's order. */
export const EVENT_DESCRIPTORS: readonly EventDescriptor[] = CATALOG.filter(({ deprecated }) => !deprecated).map(
  descriptorOf,
);

/** The types that clients can subscribe to by webhook. */
export const WEBHOOK_EVENT_NAMES: readonly string[] = EVENT_DESCRIPTORS.filter(({ delivery }) =>
  delivery.includes('webhook'),
).map(({ name }) => name);

const NAMES: ReadonlySet<string> = new Set(EVENT_DESCRIPTORS.map(({ name }) => name));

/** Whether clients can subscribe to the type. */
export function isEventName(name: string): boolean {
  return NAMES.has(name);
}
