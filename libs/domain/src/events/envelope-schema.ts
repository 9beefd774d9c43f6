import type { JsonObject } from './data-schemas/json-schema.js';

const TIMESTAMP: JsonObject = { type: 'string', format: 'date-time' };

/**
 * JSON Schema of every type's envelope (contract 3.2). It does not list the types, because new ones are added and
 * consumers must ignore unknown types. Unknown members are allowed.
 */
export const ENVELOPE_SCHEMA = {
  type: 'object',
  description: 'An event: the same bytes in pushes and in the feed.',
  required: ['id', 'seq', 'event', 'occurred_at', 'timestamp', 'org_id', 'widget_id', 'data'],
  properties: {
    id: {
      type: 'string',
      pattern: '^evt_[0-9A-Za-z]{16,64}$',
      description: 'Stable, unique, never reused: deduplicate on it.',
    },
    seq: { type: 'integer', minimum: 1, description: 'Counts the events of the organization, without a gap.' },
    event: { type: 'string', description: 'The event type.' },
    occurred_at: { ...TIMESTAMP, description: 'When it happened.' },
    timestamp: { ...TIMESTAMP, deprecated: true, description: 'Alias of occurred_at.' },
    org_id: { type: 'string', format: 'uuid' },
    widget_id: {
      type: ['string', 'null'],
      format: 'uuid',
      description: 'The owning widget; null for org-wide events.',
    },
    data: { type: 'object', description: 'The payload; its schema depends on the type: see /external/event-types.' },
  },
} as const satisfies JsonObject;
