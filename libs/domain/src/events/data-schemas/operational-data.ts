import type { OperationalEventType } from '../operational-event.js';
import { JSON_SCHEMA_DIALECT, type JsonObject } from './json-schema.js';

const text = { type: 'string', minLength: 1 };
const count = { type: 'integer', minimum: 0 };
const failure = {
  response_status: { type: ['integer', 'null'], description: 'The HTTP status of the answer; null without one.' },
  last_error: { type: ['string', 'null'], description: 'Why the attempt failed.' },
};

const MEMBERS: Readonly<Record<OperationalEventType, Readonly<Record<string, JsonObject>>>> = {
  'endpoint.failing': {
    activation: { ...count, description: 'How often the endpoint was enabled, creation included.' },
    delivery_id: text,
    run: { ...count, description: 'How often the delivery was replayed.' },
    attempt: { ...count, description: 'The attempt that reached half of the failures.' },
    failure_count: { ...count, description: 'Failed attempts in a row.' },
    ...failure,
  },
  'endpoint.disabled': {
    activation: { ...count, description: 'How often the endpoint was enabled, creation included.' },
    reason: { ...text, description: 'consecutive_failures, gone or operator; the list may grow.' },
  },
  'endpoint.enabled': {
    activation: { ...count, description: 'How often the endpoint was enabled, creation included.' },
  },
  'delivery.exhausted': {
    minute: { type: 'string', format: 'date-time', description: 'The start of the minute, ISO 8601.' },
    count: { ...count, description: 'The deliveries that failed.' },
    last: {
      type: 'object',
      description: 'One of them.',
      properties: { delivery_id: text, event_id: text, event: text, seq: count, ...failure },
      required: ['delivery_id', 'event_id', 'event', 'seq', 'response_status', 'last_error'],
    },
  },
};

/** `data` of an operational event (contract 7.5). Unknown members are allowed, because it may grow. */
export function operationalDataSchema(type: OperationalEventType): JsonObject {
  const members = MEMBERS[type];
  return {
    $schema: JSON_SCHEMA_DIALECT,
    type: 'object',
    description: 'What happened to an endpoint, and to which.',
    properties: {
      endpoint: {
        type: 'object',
        description: 'The endpoint. name and url are null once it is deleted; url is its origin alone.',
        properties: {
          id: text,
          name: { type: ['string', 'null'] },
          url: { type: ['string', 'null'] },
        },
        required: ['id', 'name', 'url'],
      },
      org_id: { ...text, description: 'The organization of the endpoint.' },
      ...members,
    },
    required: ['endpoint', 'org_id', ...Object.keys(members)],
  };
}
