import { CATALOG, MAX_BATCH, MAX_BATCH_BYTES, type CatalogEntry, type JsonObject } from '#libs/domain';
import { ref } from './schemas.js';

function header(name: string, description: string): JsonObject {
  return { name, in: 'header', required: true, description, deprecated: false, schema: { type: 'string' } };
}

function optionalHeader(name: string, description: string, deprecated = false): JsonObject {
  return { ...header(name, description), required: false, deprecated };
}

/** The one header that batches lack (contract 6.7). */
const EVENT_ID = 'X-Service-Event-Id';

/** The headers of pushes (contract 6.1). */
const PUSH_HEADERS: readonly JsonObject[] = [
  header(
    'X-Service-Signature',
    '`t=<unix seconds>,v1=<hex>`: the HMAC-SHA256 of `<t>.<raw body>`, keyed by the secret. During the overlap of a rotation there is one more `v1`, of the old secret. Refuse a time that differs by more than 300 seconds.',
  ),
  header('X-Service-Event', 'The event type; `batch` for a batch.'),
  header(EVENT_ID, 'The id of the envelope.'),
  header('X-Service-Delivery-Id', 'The id of the delivery; for a batch, of its first event.'),
  header('X-Service-Sequence', 'The seq of the envelope; `<first>-<last>` for a batch.'),
  header('X-Service-Attempt', '1 on the first try, 2 on the first retry, and so on.'),
  optionalHeader(
    'X-Webhook-Signature',
    'The hex HMAC-SHA256 of the raw body alone. Missing with `legacy_signature: false`.',
    true,
  ),
  header('webhook-id', 'Standard Webhooks: the id of the envelope. The id of a batch follows from its events.'),
  header('webhook-timestamp', 'Standard Webhooks: unix seconds.'),
  header('webhook-signature', 'Standard Webhooks: `v1,<base64>`, keyed by the decoded part of the secret.'),
  header('traceparent', 'W3C Trace Context.'),
  optionalHeader(
    'X-Service-Previous-Sequence',
    'With `previous_sequence`: the seq of the event before this one that was for the endpoint; `0` if there is none. Missing if it is not known.',
  ),
];

/** Refers to the headers, to all of them or without the one of this name. */
function headersWithout(name?: string): readonly JsonObject[] {
  return PUSH_HEADERS.flatMap((each, index) =>
    each['name'] === name ? [] : [{ $ref: `#/components/parameters/Push${index}` }],
  );
}

function envelope(event: string, data: unknown): JsonObject {
  return {
    id: 'evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
    seq: 4128,
    event,
    occurred_at: '2026-01-05T09:30:00.000Z',
    timestamp: '2026-01-05T09:30:00.000Z',
    org_id: '6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001',
    widget_id: null,
    data,
  };
}

const ACCEPTED =
  'Any 2xx within 10 seconds. Gapless retries after other responses. A 410 ends the deliveries of an endpoint with `disable_on_gone`.';

function push({ event, description, schema, example }: CatalogEntry): JsonObject {
  return {
    post: {
      operationId: `push.${event}`,
      tags: ['Pushes'],
      summary: description,
      // The signature authenticates the push.
      security: [],
      parameters: headersWithout(),
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: { allOf: [ref('Envelope'), { properties: { event: { const: event }, data: schema } }] },
            example: envelope(event, example),
          },
        },
      },
      responses: { '2XX': { description: ACCEPTED } },
    },
  };
}

/** Each request to an endpoint whose `ordering.batch` is above 1 (contract 6.7). */
const BATCH: JsonObject = {
  post: {
    operationId: 'push.batch',
    tags: ['Pushes'],
    summary: 'the events of an endpoint whose `ordering.batch` is above 1',
    security: [],
    parameters: headersWithout(EVENT_ID),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: {
            type: 'object',
            required: ['events'],
            properties: {
              events: {
                type: 'array',
                description: `By seq. At most \`ordering.batch\` events and ${MAX_BATCH_BYTES} bytes, or one event.`,
                minItems: 1,
                maxItems: MAX_BATCH,
                items: ref('Envelope'),
              },
            },
          },
        },
      },
    },
    responses: {
      '2XX': {
        description: `${ACCEPTED} Without \`acknowledged_through\`, all events are accepted.`,
        content: {
          'application/json': {
            schema: {
              type: 'object',
              properties: {
                acknowledged_through: {
                  type: 'integer',
                  description: 'The seq of the last event that is accepted. Gapless sends the others again.',
                },
              },
            },
          },
        },
      },
    },
  },
};

/** `webhooks` of the document: what endpoints receive. */
export const PUSHES: JsonObject = {
  ...Object.fromEntries(CATALOG.filter((entry) => !entry.deprecated).map((entry) => [entry.event, push(entry)])),
  batch: BATCH,
};

/** `components.parameters` of the document. */
export const PUSH_PARAMETERS: JsonObject = Object.fromEntries(
  PUSH_HEADERS.map((parameter, index) => [`Push${index}`, parameter]),
);
