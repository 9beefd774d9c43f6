import { CATALOG, ENVELOPE_SCHEMA, EVENT_TYPES, isIngestable, type JsonObject } from '#libs/domain';
import { CreateApiKeyDto } from '../api-keys/api-key.dto.js';
import { API_KEY_SCHEMA } from '../api-keys/api-key.presenter.js';
import { AUDIT_ENTRY_SCHEMA } from '../audit/audit-entry.presenter.js';
import { CURSOR_NAME_PATTERN } from '../cursors/cursor-name.js';
import { MoveCursorDto } from '../cursors/cursor.dto.js';
import { TestFilterDto } from '../webhooks/test-filter.dto.js';
import { SendExampleDto } from '../webhooks/send-example.dto.js';
import { SignInDto } from '../dashboard/sign-in.dto.js';
import { DELIVERY_SCHEMA, DELIVERY_STATUS } from '../deliveries/delivery.presenter.js';
import { UNDELIVERED_SCHEMA } from '../deliveries/undelivered.presenter.js';
import { RecoverDeliveriesDto } from '../deliveries/recover-deliveries.dto.js';
import { RECOVERY_SCHEMA } from '../deliveries/recovery.presenter.js';
import { bodySchema } from '../http/body-schema.js';
import {
  COUNT,
  DELIVERY_ID,
  ENDPOINT_ID,
  EVENT_ID,
  MAYBE_INTEGER,
  MAYBE_TEXT,
  MAYBE_TIMESTAMP,
  objectOf,
  TIMESTAMP,
  UUID,
} from '../http/shapes.js';
import { LiveChatSettingsDto, staffAlerts } from '../live-chat/live-chat-settings.dto.js';
import { ALERT_SCHEMA, WAITING_CONVERSATION_SCHEMA } from '../live-chat/live-chat.presenter.js';
import { PutOrgDto } from '../orgs/org.dto.js';
import { CreatePortalSessionDto, OpenPortalSessionDto, PORTAL_SCOPES } from '../portal/portal-session.dto.js';
import { PROBLEM_TYPES } from '../problems/problem-types.js';
import { RotateSecretDto } from '../webhooks/rotate-secret.dto.js';
import { ENDPOINT_STATUSES, WEBHOOK_SCHEMA } from '../webhooks/webhook.presenter.js';
import { givenSecret } from '../webhooks/webhook-members.js';
import { CreateWebhookDto, UpdateWebhookDto } from '../webhooks/webhook.dto.js';

/** A reference to a schema of the document. */
export const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

function propertiesOf({ properties }: JsonObject): JsonObject {
  return properties as JsonObject;
}

const SECRET: JsonObject = {
  type: 'string',
  // A given secret is returned as it came.
  pattern: givenSecret.schema['pattern'],
  description: 'The signing secret. Shown only in this response.',
};
const OVERLAP_END: JsonObject = {
  ...TIMESTAMP,
  description: 'Until when the old secret signs, too. Only with an overlap.',
};

/** The envelope of the feed, with only the event types of the catalog. */
const envelope: JsonObject = {
  ...ENVELOPE_SCHEMA,
  properties: { ...ENVELOPE_SCHEMA.properties, event: { type: 'string', enum: EVENT_TYPES } },
};

/** The schema of the payload depends on the event type. Code generators ignore these rules, validators apply them. */
const PAYLOADS = CATALOG.filter(({ event }) => isIngestable(event)).map(({ event, schema }) => ({
  if: { properties: { event: { const: event } } },
  then: { properties: { data: schema } },
}));

const newEvent: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['event', 'data'],
  properties: {
    id: {
      ...EVENT_ID,
      not: { pattern: '^evt_(EXAMPLE|OPERATIONAL)' },
      description:
        'Set by the producer, otherwise generated. A repeated id is appended once. Ids that begin with evt_EXAMPLE or ' +
        'evt_OPERATIONAL are reserved.',
    },
    event: { type: 'string', enum: EVENT_TYPES.filter(isIngestable) },
    occurred_at: { ...TIMESTAMP, description: 'Default: now. At most 24 hours ahead.' },
    org_id: { ...UUID, description: 'Required with a service key. Otherwise the organization of the key.' },
    widget_id: { type: ['string', 'null'], format: 'uuid', description: 'null for org-wide types.' },
    data: { type: 'object', additionalProperties: true, description: 'The payload, by the schema of its type.' },
  },
  allOf: PAYLOADS,
};

const newOrg = bodySchema(PutOrgDto);

const listedOrg = {
  org_id: UUID,
  name: propertiesOf(newOrg)['name'] as JsonObject,
  metadata: { type: 'object', additionalProperties: { type: 'string' } },
  created_at: TIMESTAMP,
  updated_at: TIMESTAMP,
};

const WIDGETS: JsonObject = { type: 'array', items: objectOf({ id: UUID, name: { type: 'string' } }) };

const portalSession = {
  id: { type: 'string', pattern: '^gps_[0-9A-HJKMNP-TV-Z]{26}$' },
  org_id: UUID,
  scopes: { type: 'array', items: { type: 'string', enum: PORTAL_SCOPES } },
  user_label: MAYBE_TEXT,
  return_url: MAYBE_TEXT,
  expires_at: TIMESTAMP,
};

const newLiveChatSettings = bodySchema(LiveChatSettingsDto);

const endpointHealth: JsonObject = {
  status: {
    type: 'string',
    enum: ENDPOINT_STATUSES,
    description:
      'failing: more than 5 % of the recent deliveries failed or are being retried, or the last attempt failed and there ' +
      'are none. disabled: automatically, after too many failed attempts in a row. paused: by an operator.',
  },
  recent_deliveries: {
    ...COUNT,
    description: 'Deliveries that were tried, among the latest 1,000 of events of the last hour.',
  },
  recent_failed: {
    ...COUNT,
    description:
      'Of these, those that failed or are being retried. For the status, only events since the endpoint was enabled count.',
  },
  disabled_at: MAYBE_TIMESTAMP,
  disabled_reason: MAYBE_TEXT,
};

const endpointsByStatus: JsonObject = objectOf(
  Object.fromEntries(ENDPOINT_STATUSES.map((status) => [status, COUNT])),
  'How many endpoints have each status.',
);

const signingKey: JsonObject = objectOf({
  kty: { type: 'string', const: 'OKP' },
  crv: { type: 'string', const: 'Ed25519' },
  x: { type: 'string', pattern: '^[\\w-]{43}$', description: 'The public key, 32 bytes in base64url.' },
  kid: { type: 'string', description: 'The id of the key.' },
  use: { type: 'string', const: 'sig' },
  alg: { type: 'string', const: 'EdDSA' },
});

/** `components.schemas` of the document. */
export const SCHEMAS: JsonObject = {
  Webhook: objectOf(WEBHOOK_SCHEMA, 'A registered endpoint.'),
  WebhookWithSecret: objectOf({ ...WEBHOOK_SCHEMA, secret: SECRET }),
  AuditEntry: objectOf(AUDIT_ENTRY_SCHEMA),
  SecretRotation: bodySchema(RotateSecretDto),
  WebhookWithNewSecret: {
    ...objectOf({ ...WEBHOOK_SCHEMA, secret: SECRET }),
    properties: { ...WEBHOOK_SCHEMA, secret: SECRET, previous_secret_expires_at: OVERLAP_END },
  },
  WebhookWithHealth: objectOf({
    ...WEBHOOK_SCHEMA,
    health: objectOf({
      ...endpointHealth,
      delivered_24h: { ...COUNT, description: 'Attempts that succeeded, among the latest 100,000.' },
      failed_attempts_24h: { ...COUNT, description: 'Attempts that failed, among the latest 100,000.' },
      pending: { ...COUNT, description: 'Deliveries that wait for their next attempt, at most 10,000.' },
      oldest_pending_at: MAYBE_TIMESTAMP,
      last_success_at: MAYBE_TIMESTAMP,
      last_failure_at: MAYBE_TIMESTAMP,
      last_error: MAYBE_TEXT,
      p50_ms: { ...MAYBE_INTEGER, description: 'How long half of the latest 1,000 attempts of 24 hours took at most.' },
      p95_ms: { ...MAYBE_INTEGER, description: 'The same for 95 % of them.' },
    }),
  }),
  NewWebhook: bodySchema(CreateWebhookDto),
  WebhookChange: bodySchema(UpdateWebhookDto),
  Delivery: objectOf(DELIVERY_SCHEMA, 'What became of an event on its way to an endpoint.'),
  UndeliveredEvent: objectOf(UNDELIVERED_SCHEMA, 'An event that the endpoint should have and has not.'),
  EventAnswer: objectOf(
    {
      endpoint_id: ENDPOINT_ID,
      endpoint_name: MAYBE_TEXT,
      url: { type: 'string', description: 'Of the endpoint as it is now, or as it was when it was deleted.' },
      answer: {
        type: 'string',
        enum: [
          ...['delivered', 'pending', 'failed'],
          ...['not_subscribed', 'out_of_scope', 'filtered', 'inactive', 'not_yet_created', 'deleted'],
        ],
        description:
          'The status of the delivery, or why there is none. `pending` without a delivery: a dispatcher has not come to the ' +
          'event yet. Without a delivery, the events, widgets and filter from the time of the event count.',
      },
      filter: { ...MAYBE_TEXT, description: 'The filter that left out the event. Only with `filtered`.' },
      inactive_since: { ...MAYBE_TIMESTAMP, description: 'Only with `inactive`.' },
      deleted_at: { ...MAYBE_TIMESTAMP, description: 'When the endpoint was deleted, whatever the answer is.' },
      delivery: { anyOf: [ref('Delivery'), { type: 'null' }] },
    },
    'What became of an event at one endpoint.',
  ),
  FoundDelivery: objectOf({ ...DELIVERY_SCHEMA, endpoint_id: ENDPOINT_ID }),
  DeliveryWithLog: objectOf({
    ...DELIVERY_SCHEMA,
    endpoint_id: ENDPOINT_ID,
    attempts_log: {
      type: 'array',
      description: 'The latest 1,000 attempts, oldest first, those before a replay included.',
      items: objectOf({
        attempt: { type: 'integer', minimum: 1 },
        due_at: { ...MAYBE_TIMESTAMP, description: 'When the attempt was due. Null for attempts of earlier versions.' },
        waited_for: {
          anyOf: [{ type: 'string', enum: ['order', 'pace', 'slow_lane'] }, { type: 'null' }],
          description:
            'What it waited for from `due_at` to `at`: its turn, the limits of the endpoint, or the lane of slow endpoints.',
        },
        at: TIMESTAMP,
        duration_ms: COUNT,
        response_status: MAYBE_INTEGER,
        error: MAYBE_TEXT,
        response_excerpt: {
          ...MAYBE_TEXT,
          description: 'The first KB of the response body, without secrets that the push sent.',
        },
        batch: {
          anyOf: [
            objectOf({ first_seq: { type: 'integer', minimum: 1 }, last_seq: { type: 'integer', minimum: 1 } }),
            { type: 'null' },
          ],
          description:
            'The first and last event of the request, if it was a batch. A failed one is an attempt of its first event alone.',
        },
      }),
    },
    request: {
      anyOf: [ref('SentRequest'), { type: 'null' }],
      description: 'null before the first attempt, and once the event is older than the retention.',
    },
    envelope: {
      anyOf: [ref('Envelope'), { type: 'null' }],
      description: 'null once the event is older than the retention.',
    },
  }),
  SentRequest: objectOf(
    {
      method: { type: 'string', const: 'POST' },
      url: { ...MAYBE_TEXT, description: 'null once it has changed.' },
      url_note: { ...MAYBE_TEXT, description: 'Why there is no url.' },
      headers: {
        type: 'object',
        additionalProperties: MAYBE_TEXT,
        description:
          'By name in lower case, without Host, Content-Length and Connection. null means unknown: signatures after the ' +
          'secret was rotated, or without the scope webhooks:write; and the traceparent of an event that was not replayed, ' +
          'whose trace is the producer’s. The user-agent is the current one.',
      },
      signature_note: { ...MAYBE_TEXT, description: 'Why there are no signatures.' },
      body: { type: 'string', description: 'The exact bytes. Of a batch with several events, those of this event.' },
    },
    'The request of the latest attempt as it was sent.',
  ),
  // `since` or `since_seq` is required.
  Recovery: {
    anyOf: ['since', 'since_seq'].map((name) => ({ ...bodySchema(RecoverDeliveriesDto), required: [name] })),
  },
  RecoveryResult: objectOf({
    id: { type: ['string', 'null'], description: 'The id of the recovery; null in a dry run.' },
    complete: {
      type: 'boolean',
      description:
        'Whether the whole range was looked at, and in a dry run also whether no event of it is open. If not, the recovery continues, and the numbers grow. A dry run does not continue: repeat it.',
    },
    matched: COUNT,
    scheduled: COUNT,
  }),
  RecoveryProgress: objectOf(RECOVERY_SCHEMA, 'A recovery, and how far it is.'),
  Envelope: envelope,
  NewEvent: newEvent,
  Cursor: objectOf(
    {
      name: { type: 'string', pattern: CURSOR_NAME_PATTERN.source },
      seq: { ...COUNT, description: 'Every event up to this seq is handled.' },
      behind: { ...COUNT, description: 'The number of events after it.' },
      lost: { ...COUNT, description: 'How many of those retention has removed from the feed.' },
      moved_at: TIMESTAMP,
      created_at: TIMESTAMP,
    },
    'The position of a reader of the feed.',
  ),
  McpSubscription: objectOf(
    {
      id: { type: 'string', pattern: '^sub_[0-9a-f]{32}$' },
      key_id: { type: 'string', description: 'The API key that subscribed.' },
      event: { type: 'string' },
      arguments: { type: 'object' },
      url: { type: 'string' },
      status: {
        type: 'string',
        enum: ['active', 'suspended', 'ended'],
        description: 'suspended: nearly all deliveries failed. The next refresh resumes it.',
      },
      seq: { ...COUNT, description: 'Every event of the subscription up to this seq is acknowledged or given up.' },
      behind: { ...COUNT, description: 'The number of events of the organization after it.' },
      last_delivered_at: MAYBE_TIMESTAMP,
      last_error: { ...MAYBE_TEXT, description: 'The category of the error; null if the latest attempt succeeded.' },
      expires_at: { ...MAYBE_TIMESTAMP, description: 'null for no expiry.' },
      refreshed_at: TIMESTAMP,
      created_at: TIMESTAMP,
    },
    'A webhook that an agent has subscribed by MCP.',
  ),
  ExampleRequest: bodySchema(SendExampleDto),
  FilterTest: bodySchema(TestFilterDto),
  FilterTestResult: objectOf(
    {
      tested: COUNT,
      matched: COUNT,
      left_out: COUNT,
      failed: { ...COUNT, description: 'Events for which the filter has no answer. They are pushed.' },
      is_complete: { type: 'boolean', description: 'Whether every event that was asked for is among those tested.' },
      events: {
        type: 'array',
        description: 'The tested events, newest first.',
        items: objectOf({
          id: EVENT_ID,
          seq: { type: 'integer', minimum: 1 },
          event: { type: 'string' },
          occurred_at: TIMESTAMP,
          result: { type: 'string', enum: ['matched', 'left_out', 'failed'] },
          reason: { ...MAYBE_TEXT, description: 'Why the filter has no answer. Only with `failed`.' },
        }),
      },
    },
    'What a filter does with stored events.',
  ),
  CursorMove: bodySchema(MoveCursorDto),
  EventType: objectOf({
    event: { type: 'string', enum: EVENT_TYPES },
    family: { type: 'string', enum: [...new Set(CATALOG.map(({ family }) => family))] },
    description: { type: 'string' },
    scope: { type: 'string', enum: ['widget', 'org'] },
    deprecated: { type: 'boolean' },
    operational: {
      type: 'boolean',
      description: 'true: only Gapless raises it, and only in the operations organization.',
    },
    subject: {
      ...MAYBE_TEXT,
      description:
        'Where data has the id of the thing that the event is about, such as conversation.id. null: it is about no single thing.',
    },
    schema: { type: 'object', description: 'JSON Schema 2020-12 of data.' },
    example: { type: 'object' },
  }),
  ApiKey: objectOf(API_KEY_SCHEMA),
  ApiKeyWithSecret: objectOf({
    ...API_KEY_SCHEMA,
    key: { type: 'string', description: 'The key. Shown only in this response.' },
  }),
  NewApiKey: bodySchema(CreateApiKeyDto),
  LiveChatSettings: objectOf({
    ...propertiesOf(newLiveChatSettings),
    staff_alerts: objectOf(propertiesOf(staffAlerts.schema)),
  }),
  NewLiveChatSettings: newLiveChatSettings,
  WaitingConversation: objectOf(WAITING_CONVERSATION_SCHEMA),
  Alert: objectOf(ALERT_SCHEMA),
  FoundConversation: objectOf({
    waiting: {
      anyOf: [ref('WaitingConversation'), { type: 'null' }],
      description: 'The chat in the queue. null if it does not wait.',
    },
    alerts: { type: 'array', items: ref('Alert'), description: 'The latest 20 alerts of the chat, newest first.' },
  }),
  Session: objectOf(
    {
      org_id: UUID,
      key_id: API_KEY_SCHEMA['id'],
      scopes: API_KEY_SCHEMA['scopes'],
      expires_at: { ...TIMESTAMP, description: 'After 12 hours, or when the key expires.' },
      csrf_token: { type: 'string', description: 'Send it as X-CSRF-Token with every request that changes something.' },
      live_chat_alerts: { type: 'boolean', description: 'Whether the operations of live-chat alerts are served here.' },
    },
    'Who is signed in to the dashboard.',
  ),
  NewSession: bodySchema(SignInDto),
  Organization: objectOf({ ...listedOrg, widgets: WIDGETS }, 'An organization as a record of your backend.'),
  ListedOrganization: objectOf(listedOrg, 'An organization without its widgets.'),
  NewOrganization: newOrg,
  OrganizationNames: objectOf(
    { org_id: UUID, name: MAYBE_TEXT, widgets: WIDGETS },
    'The names of the organization and its widgets, if your backend has set them.',
  ),
  OrganizationStatistics: objectOf({
    as_of: TIMESTAMP,
    head_seq: { ...COUNT, description: 'The seq of the newest event. 0 without events.' },
    oldest_seq: { ...COUNT, description: 'The seq of the oldest event in the feed. 0 without events.' },
    projection_lag_seconds: {
      type: ['integer', 'null'],
      minimum: 0,
      description: 'The response counts everything older than this. null: the brokers do not respond.',
    },
    endpoints: endpointsByStatus,
    pending: {
      ...COUNT,
      description: 'Deliveries that wait for their next attempt. Of each endpoint, at most 10,000 count.',
    },
    oldest_pending_at: { ...MAYBE_TIMESTAMP, description: 'When the event of the oldest of them was appended.' },
    days: {
      type: 'array',
      minItems: 1,
      maxItems: 31,
      description: 'Days in UTC, oldest first. The last one is not over yet.',
      items: objectOf({
        day: { type: 'string', format: 'date' },
        events: { ...COUNT, description: 'Events that were appended on the day.' },
        bytes: {
          ...MAYBE_INTEGER,
          minimum: 0,
          description: 'The size of their envelopes. null while it is being counted: ask again.',
        },
        delivered: { ...MAYBE_INTEGER, minimum: 0, description: 'Attempts of the day that succeeded.' },
        failed_attempts: { ...MAYBE_INTEGER, minimum: 0, description: 'Attempts of the day that failed.' },
      }),
    },
  }),
  NewPortalSession: bodySchema(CreatePortalSessionDto),
  PortalLink: objectOf({
    ...portalSession,
    url: { type: 'string', format: 'uri', description: 'Opens the portal once. Shown only in this response.' },
    link_expires_at: { ...TIMESTAMP, description: 'After 15 minutes, or with the session.' },
  }),
  LinkToken: bodySchema(OpenPortalSessionDto),
  PortalSession: objectOf({
    ...portalSession,
    live_chat_alerts: { type: 'boolean', description: 'Whether the operations of live-chat alerts are served here.' },
    branding: objectOf({ name: MAYBE_TEXT, logo_url: MAYBE_TEXT, accent: MAYBE_TEXT }),
  }),
  Overview: objectOf(
    {
      as_of: TIMESTAMP,
      head_seq: { ...COUNT, description: 'The seq of the newest event. 0 without events.' },
      oldest_seq: { ...COUNT, description: 'The seq of the oldest event in the feed. 0 without events.' },
      projection_lag_seconds: {
        type: ['integer', 'null'],
        minimum: 0,
        description:
          'The response shows every event older than this. 0: it shows everything. Otherwise 1, 2, 5, 10, 30 and so on. null: the brokers do not respond.',
      },
      minutes: {
        type: 'array',
        description: 'Oldest first. The last one is not over yet.',
        items: objectOf({ at: TIMESTAMP, events: COUNT, delivered: COUNT, failed_attempts: COUNT }),
      },
      outcomes: objectOf(
        { delivered: COUNT, failed: COUNT, pending: COUNT },
        'Deliveries of the events that were appended in these minutes.',
      ),
      push_latency: objectOf(
        { p50_ms: MAYBE_INTEGER, p95_ms: MAYBE_INTEGER, samples: COUNT },
        'From the append of the event to the response of the endpoint. It covers the latest 500 first attempts of each ' +
          'endpoint that succeeded, of events that were appended in these minutes. Older ones than its latest 5,000 ' +
          'attempts, replays, recoveries, and what waited for its order or its pace do not count.',
      ),
      endpoints: endpointsByStatus,
    },
    'How the organization is doing.',
  ),
  Activity: objectOf({
    endpoint_id: ENDPOINT_ID,
    health: objectOf(endpointHealth),
    buckets: {
      type: 'array',
      minItems: 24,
      maxItems: 60,
      description: 'Oldest first. The last one is not over yet.',
      items: objectOf({ at: TIMESTAMP, delivered: COUNT, failed_attempts: COUNT }),
    },
  }),
  StoredEvent: objectOf({
    envelope: ref('Envelope'),
    raw: { type: 'string', description: 'The stored bytes.' },
    sha256: { type: 'string', pattern: '^[0-9a-f]{64}$', description: 'Of the stored bytes.' },
    appended_at: TIMESTAMP,
    deliveries: {
      type: ['array', 'null'],
      description: 'Deliveries to existing endpoints. null for a key without the scope `webhooks:read`.',
      items: objectOf({
        id: DELIVERY_ID,
        endpoint_id: ENDPOINT_ID,
        endpoint_name: MAYBE_TEXT,
        url: { type: 'string', description: 'Of the endpoint as it is now.' },
        status: DELIVERY_STATUS,
        attempts: COUNT,
        response_status: MAYBE_INTEGER,
        last_error: MAYBE_TEXT,
        delivered_at: MAYBE_TIMESTAMP,
      }),
    },
  }),
  SigningKeySet: objectOf(
    { keys: { type: 'array', items: signingKey } },
    'A JWK set (RFC 7517) with Ed25519 keys (RFC 8037).',
  ),
  Problem: {
    type: 'object',
    description: 'RFC 9457.',
    required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'request_id'],
    properties: {
      type: { type: 'string', format: 'uri-reference' },
      title: { type: 'string' },
      status: { type: 'integer' },
      detail: { type: 'string' },
      instance: { type: 'string', format: 'uri-reference', description: 'The path of the request.' },
      code: { type: 'string', enum: Object.keys(PROBLEM_TYPES) },
      request_id: { type: 'string' },
      errors: {
        type: 'array',
        description: 'The invalid places, as JSON Pointers. A query parameter is a member of the query.',
        items: objectOf({ pointer: { type: 'string' }, code: { type: 'string' }, detail: { type: 'string' } }),
      },
    },
  },
};
