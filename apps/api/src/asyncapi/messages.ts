import {
  CATALOG,
  ENVELOPE_SCHEMA,
  EXAMPLE_ID_BEGINNING,
  EVENT_TYPES,
  isIngestable,
  type CatalogEntry,
  type JsonObject,
} from '#libs/domain';
import { DEAD_LETTER_CODES } from '#libs/kafka-log';
import { exampleEnvelope, partOf } from '#libs/event-validation';

const EMITTED = CATALOG.filter(({ deprecated }) => !deprecated);
const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

/** Header values are bytes; all of ours are ASCII text. */
function text(description: string, rules: JsonObject = {}): JsonObject {
  return { type: 'string', description, ...rules };
}
const DECIMAL = { pattern: '^[0-9]{1,16}$' };
const UUID: JsonObject = { type: 'string', format: 'uuid' };
const TRACEPARENT = text('W3C Trace Context.');

const KEYED_BY_ORG: JsonObject = {
  kafka: { key: { ...UUID, description: 'The org id, in lower case.' }, bindingVersion: '0.5.0' },
};

const LOG_HEADERS: JsonObject = {
  type: 'object',
  description: 'CloudEvents 1.0 in binary mode, and headers that save parsing the value.',
  required: [
    'ce_specversion',
    'ce_id',
    'ce_type',
    'ce_source',
    'ce_time',
    'content-type',
    'seq',
    'inbox-offset',
    'inbox-time',
  ],
  properties: {
    ce_specversion: { type: 'string', const: '1.0' },
    ce_id: text('The id of the envelope.', { pattern: ENVELOPE_SCHEMA.properties.id.pattern }),
    ce_type: text('The event type.'),
    ce_source: text('`/orgs/<org id>`.', { pattern: '^/orgs/[0-9a-f-]{36}$' }),
    ce_time: text('`occurred_at` of the envelope.', { format: 'date-time' }),
    'content-type': { type: 'string', const: 'application/json' },
    seq: text('The seq of the envelope.', DECIMAL),
    'widget-id': text('The owning widget; absent for org-wide events.', { format: 'uuid' }),
    'target-endpoint': text(
      'The only endpoint that the event is pushed to: on `test` events, and on examples, whose ids begin with ' +
        `\`${EXAMPLE_ID_BEGINNING}\` and whose types are those of real events. Leave out records with this header. ` +
        'Those that a repair put back lack it: leave them out by type and id.',
    ),
    traceparent: TRACEPARENT,
    'inbox-offset': text('Of the inbox record that the event came in.', DECIMAL),
    'inbox-time': text('When the broker took that record, in milliseconds since 1970.', DECIMAL),
  },
};

const SUBMISSION: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['id', 'event', 'org_id', 'data'],
  properties: {
    id: { ...ENVELOPE_SCHEMA.properties.id, description: 'Set by the producer. A repeated id is appended once.' },
    event: { type: 'string', enum: EVENT_TYPES.filter(isIngestable) },
    occurred_at: text('RFC 3339; the time of the record, if left out. At most 24 hours ahead.', {
      format: 'date-time',
    }),
    org_id: { ...UUID, description: 'Must equal the key of the record.' },
    widget_id: { type: ['string', 'null'], format: 'uuid', description: 'null for org-wide types.' },
    data: { type: 'object', description: 'The payload; its schema is that of its type.' },
  },
};

const DEAD_LETTER_HEADERS: JsonObject = {
  type: 'object',
  description:
    'The headers of the original record as UTF-8 text, plus these. Of a header that comes twice, the first value is kept. ' +
    'Headers without a value, and those with the names of these, are left out.',
  required: ['x-error-code', 'x-error-detail', 'x-origin'],
  properties: {
    'x-error-code': text('Why it was set aside.', { enum: DEAD_LETTER_CODES }),
    'x-error-detail': text('The problems of the record, by place.'),
    'x-origin': text('`<topic>/<partition>/<offset>`.'),
    'x-cut': text('What was too large and is cut, with its size.'),
  },
};

const STAFF_ALERT: JsonObject = {
  type: 'object',
  required: ['alert_id', 'org_id', 'conversation_id', 'stage', 'event_id', 'raised_at', 'data'],
  properties: {
    alert_id: { type: 'string' },
    org_id: UUID,
    conversation_id: { type: 'string' },
    stage: { type: 'integer', enum: [1, 2], description: 'Which threshold was crossed.' },
    event_id: { ...ENVELOPE_SCHEMA.properties.id, description: 'The event that was emitted by the same decision.' },
    raised_at: { type: 'string', format: 'date-time' },
    data: { type: 'object', description: 'The payload of that event.' },
  },
};

/** `components.schemas` of the document. */
export const MESSAGE_SCHEMAS: JsonObject = {
  Envelope: ENVELOPE_SCHEMA,
  LogHeaders: LOG_HEADERS,
  Submission: SUBMISSION,
  DeadLetterHeaders: DEAD_LETTER_HEADERS,
  StaffAlert: STAFF_ALERT,
};

function logMessage(entry: CatalogEntry): JsonObject {
  const { event, description, schema } = entry;
  const envelope = exampleEnvelope(entry);
  return {
    name: event,
    title: event,
    summary: description,
    contentType: 'application/json',
    headers: { allOf: [ref('LogHeaders'), { type: 'object', properties: { ce_type: { const: event } } }] },
    payload: {
      allOf: [ref('Envelope'), { type: 'object', properties: { event: { const: event }, data: partOf(schema) } }],
    },
    bindings: KEYED_BY_ORG,
    examples: [
      {
        headers: {
          ce_specversion: '1.0',
          ce_id: envelope['id'],
          ce_type: event,
          ce_source: `/orgs/${String(envelope['org_id'])}`,
          ce_time: envelope['occurred_at'],
          'content-type': 'application/json',
          seq: String(envelope['seq']),
          ...(envelope['widget_id'] === null ? {} : { 'widget-id': envelope['widget_id'] }),
          'inbox-offset': '77',
          'inbox-time': '1772366400123',
        },
        payload: envelope,
      },
    ],
  };
}

/** The names of the messages of the log: the event types that are emitted. */
export const LOG_MESSAGES: readonly string[] = EMITTED.map(({ event }) => event);

/** `components.messages` of the document. */
export const MESSAGES: JsonObject = {
  ...Object.fromEntries(EMITTED.map((entry) => [entry.event, logMessage(entry)])),
  submission: {
    title: 'An event as a service submits it',
    contentType: 'application/json',
    headers: { type: 'object', properties: { traceparent: TRACEPARENT } },
    payload: ref('Submission'),
    bindings: KEYED_BY_ORG,
  },
  deadLetter: {
    title: 'A record that could not be read',
    // The record holds the submitted bytes, JSON or not.
    contentType: 'application/octet-stream',
    headers: ref('DeadLetterHeaders'),
  },
  staffAlert: {
    title: 'An alert for staff',
    contentType: 'application/json',
    payload: ref('StaffAlert'),
    bindings: KEYED_BY_ORG,
  },
};
