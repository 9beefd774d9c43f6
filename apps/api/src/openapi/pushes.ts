import { CATALOG, type CatalogEntry, type JsonObject } from '#libs/domain';
import { ref } from './schemas.js';

function header(name: string, description: string, deprecated = false): JsonObject {
  return { name, in: 'header', required: true, description, deprecated, schema: { type: 'string' } };
}

function optionalHeader(name: string, description: string): JsonObject {
  return { ...header(name, description), required: false };
}

/** The headers of every push (contract 6.1). */
const PUSH_HEADERS: readonly JsonObject[] = [
  header(
    'X-Service-Signature',
    '`t=<unix seconds>,v1=<hex>`: the HMAC-SHA256 of `<t>.<raw body>`, keyed by the secret. During the overlap of a rotation there is one more `v1`, of the old secret. Refuse a time that differs by more than 300 seconds.',
  ),
  header('X-Service-Event', 'The event type.'),
  header('X-Service-Event-Id', 'The id of the envelope.'),
  header('X-Service-Delivery-Id', 'The id of the delivery.'),
  header('X-Service-Sequence', 'The seq of the envelope.'),
  header('X-Service-Attempt', '1 on the first try, 2 on the first retry, and so on.'),
  header('X-Webhook-Signature', 'The hex HMAC-SHA256 of the raw body alone.', true),
  header('webhook-id', 'Standard Webhooks: the id of the envelope.'),
  header('webhook-timestamp', 'Standard Webhooks: unix seconds.'),
  header('webhook-signature', 'Standard Webhooks: `v1,<base64>`, keyed by the decoded part of the secret.'),
  header('traceparent', 'W3C Trace Context.'),
  optionalHeader(
    'X-Service-Previous-Sequence',
    'With `previous_sequence`: the seq of the event before this one that was for the endpoint; `0` if there is none. Missing if it is not known.',
  ),
];

function push({ event, description, schema, example }: CatalogEntry): JsonObject {
  return {
    post: {
      operationId: `push.${event}`,
      tags: ['Pushes'],
      summary: description,
      // The signature authenticates the push.
      security: [],
      parameters: PUSH_HEADERS.map((_, index) => ({ $ref: `#/components/parameters/Push${index}` })),
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: { allOf: [ref('Envelope'), { properties: { event: { const: event }, data: schema } }] },
            example: {
              id: 'evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
              seq: 4128,
              event,
              occurred_at: '2026-01-05T09:30:00.000Z',
              timestamp: '2026-01-05T09:30:00.000Z',
              org_id: '6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001',
              widget_id: null,
              data: example,
            },
          },
        },
      },
      responses: {
        '2XX': {
          description:
            'Any 2xx within 10 seconds. Gapless retries after other responses. A 410 ends the deliveries of an endpoint with `disable_on_gone`.',
        },
      },
    },
  };
}

/** `webhooks` of the document: what endpoints receive. */
export const PUSHES: JsonObject = Object.fromEntries(
  CATALOG.filter((entry) => !entry.deprecated).map((entry) => [entry.event, push(entry)]),
);

/** `components.parameters` of the document. */
export const PUSH_PARAMETERS: JsonObject = Object.fromEntries(
  PUSH_HEADERS.map((parameter, index) => [`Push${index}`, parameter]),
);
