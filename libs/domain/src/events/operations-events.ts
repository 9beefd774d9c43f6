import { familyOf } from './catalog-entry.js';
import { operationalDataSchema } from './data-schemas/operational-data.js';
import { openObjectSchema } from './data-schemas/json-schema.js';

const endpoint = { id: 'whe_01K2Z8Q4T7WJ5M3N9R6XBCDEFG', name: 'Night shift', url: 'https://hooks.example.com' };
const org_id = '7b1f0c52-3a54-4f0e-9d7a-1f6b8c2d9e10';
const delivery_id = 'whd_7Q2M4X8K1B6N9R3T5W0Y7C4DGH';
const failure = { response_status: 500, last_error: 'http_status: 500' };

/** What happens to endpoints, for the operations organization (contract 7.5). */
export const operationsEvents = familyOf(
  {
    family: 'operations',
    scope: 'org',
    subject: 'endpoint.id',
    openSchema: openObjectSchema('What happened to an endpoint.'),
  },
  [
    {
      event: 'endpoint.failing',
      description: 'An endpoint has had half of the failures in a row that disable it. Operations organization only.',
      schema: operationalDataSchema('endpoint.failing'),
      example: { endpoint, org_id, activation: 1, delivery_id, run: 0, attempt: 3, failure_count: 10, ...failure },
    },
    {
      event: 'endpoint.disabled',
      description:
        'An endpoint became inactive: by its failures, by its answer, or by an operator. Operations organization only.',
      schema: operationalDataSchema('endpoint.disabled'),
      example: { endpoint, org_id, activation: 1, reason: 'consecutive_failures' },
    },
    {
      event: 'endpoint.enabled',
      description: 'An endpoint was made active again. Operations organization only.',
      schema: operationalDataSchema('endpoint.enabled'),
      example: { endpoint, org_id, activation: 2 },
    },
    {
      event: 'delivery.exhausted',
      description:
        'Deliveries of an endpoint failed with their last attempt; at most one event for each endpoint and minute. Operations organization only.',
      schema: operationalDataSchema('delivery.exhausted'),
      example: {
        endpoint,
        org_id,
        minute: '2026-06-01T12:34:00.000Z',
        count: 3,
        last: {
          delivery_id,
          event_id: 'evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
          event: 'ticket.created',
          seq: 4127,
          ...failure,
        },
      },
    },
  ],
);
