import { EVENT_TYPES, isFeedFilter, type JsonObject } from '#libs/domain';
import { AUDIT_LOG_PAGE } from '../audit/list-audit-log.controller.js';
import { CURSOR_NAME_PATTERN } from '../cursors/cursor-name.js';
import { DELIVERY_STATUS } from '../deliveries/delivery.presenter.js';
import { DELIVERIES_PAGE } from '../deliveries/list-deliveries.controller.js';
import { UNDELIVERED_PAGE } from '../deliveries/list-undelivered.controller.js';
import { FEED_PAGE } from '../events/feed-query.js';
import type { PageLimits } from '../http/query-parameters.js';
import { EVENT_ID, objectOf, UUID } from '../http/shapes.js';
import { ALERTS_PAGE } from '../live-chat/list-alerts.controller.js';
import { WAITING_PAGE } from '../live-chat/list-waiting-conversations.controller.js';
import { ORGS_PAGE } from '../orgs/list-orgs.controller.js';
import { dataOf, listOf, operation, pageOf } from './operation.js';
import { ref } from './schemas.js';

const ENDPOINTS = 'Webhook endpoints';
const DELIVERIES = 'Deliveries';
const EVENTS = 'Events';
const KEYS = 'API keys';
const ORGANIZATIONS = 'Organizations';
const PORTAL = 'Portal';
const DASHBOARD = 'Dashboard';
const INTERNAL = 'For product services';
const LIVE_CHAT = 'Live chat';
const PUSHES = 'Pushes';

function pathParameter(name: string, description: string): JsonObject {
  return { name, in: 'path', required: true, description, schema: { type: 'string' } };
}

function queryParameter(name: string, description: string, schema: JsonObject): JsonObject {
  return { name, in: 'query', description, schema };
}

function limitParameter({ max, fallback }: PageLimits): JsonObject {
  return queryParameter('limit', 'How many at most.', { type: 'integer', minimum: 1, maximum: max, default: fallback });
}

function pageParameters(limits: PageLimits): readonly JsonObject[] {
  return [
    queryParameter('cursor', 'The `next_cursor` of the page before.', { type: 'string' }),
    limitParameter(limits),
  ];
}

const ENDPOINT = pathParameter('id', 'The id of the endpoint.');
const DELIVERY = pathParameter('deliveryId', 'The id of the delivery.');
const ORG = pathParameter('orgId', 'The organization; for a key that is bound to one, its own.');
const MANAGED_ORG = pathParameter('orgId', 'The organization.');
const TIME: JsonObject = { type: 'string', format: 'date-time' };
const URL_ERRORS = ['url_invalid', 'url_not_https', 'url_private_network', 'url_unresolvable'] as const;

const webhooks: JsonObject = {
  get: operation('get', {
    id: 'listWebhooks',
    tag: ENDPOINTS,
    summary: 'List the endpoints',
    scope: 'webhooks:read',
    success: { status: 200, description: 'All endpoints, oldest first.', content: dataOf(listOf('Webhook')) },
  }),
  post: operation('post', {
    id: 'createWebhook',
    tag: ENDPOINTS,
    summary: 'Register an endpoint',
    description: 'Only this response contains the signing secret.',
    scope: 'webhooks:write',
    body: {
      schema: ref('NewWebhook'),
      example: { url: 'https://example.com/hooks', events: ['conversation.queued'], name: 'Night shift' },
    },
    idempotent: true,
    success: { status: 201, description: 'The endpoint, active.', content: dataOf(ref('WebhookWithSecret')) },
    errors: [...URL_ERRORS, 'unknown_event_type', 'endpoint_limit_reached'],
  }),
};

const webhook: JsonObject = {
  get: operation('get', {
    id: 'getWebhook',
    tag: ENDPOINTS,
    summary: 'Read an endpoint and its delivery health',
    scope: 'webhooks:read',
    parameters: [ENDPOINT],
    success: { status: 200, description: 'The endpoint.', content: dataOf(ref('WebhookWithHealth')) },
    errors: ['not_found'],
  }),
  patch: operation('patch', {
    id: 'updateWebhook',
    tag: ENDPOINTS,
    summary: 'Change an endpoint',
    description: 'Missing members stay unchanged. null clears name, description, widget_ids and filter.',
    scope: 'webhooks:write',
    parameters: [ENDPOINT],
    body: { schema: ref('WebhookChange'), example: { is_active: true } },
    success: { status: 200, description: 'The endpoint as it is now.', content: dataOf(ref('Webhook')) },
    errors: ['not_found', ...URL_ERRORS, 'unknown_event_type'],
  }),
  delete: operation('delete', {
    id: 'deleteWebhook',
    tag: ENDPOINTS,
    summary: 'Delete an endpoint and its delivery history',
    scope: 'webhooks:write',
    parameters: [ENDPOINT],
    success: { status: 204, description: 'It is deleted.' },
    errors: ['not_found'],
  }),
};

const rotateSecret: JsonObject = {
  post: operation('post', {
    id: 'rotateWebhookSecret',
    tag: ENDPOINTS,
    summary: 'Replace the signing secret',
    description:
      'The old secret becomes invalid at once. With `overlap_seconds`, pushes have a signature of each secret for so long, and `X-Webhook-Signature` is of the old one.',
    scope: 'webhooks:write',
    parameters: [ENDPOINT],
    body: { schema: ref('SecretRotation'), example: { overlap_seconds: 3_600 }, isOptional: true },
    idempotent: true,
    success: {
      status: 200,
      description: 'The endpoint with its new secret.',
      content: dataOf(ref('WebhookWithNewSecret')),
    },
    errors: ['not_found'],
  }),
};

const previousSecret: JsonObject = {
  delete: operation('delete', {
    id: 'endSecretOverlap',
    tag: ENDPOINTS,
    summary: 'End the overlap of two signing secrets',
    description: 'From now on only the current secret signs. Without an overlap, nothing changes.',
    scope: 'webhooks:write',
    parameters: [ENDPOINT],
    success: { status: 204, description: 'One secret signs.' },
    errors: ['not_found'],
  }),
};

const test: JsonObject = {
  post: operation('post', {
    id: 'testWebhook',
    tag: ENDPOINTS,
    summary: 'Send a test event to the endpoint',
    description: 'The event is in the feed, and is pushed only to this endpoint, signed like every other.',
    scope: 'webhooks:write',
    parameters: [ENDPOINT],
    idempotent: true,
    success: { status: 202, description: 'The delivery.', content: dataOf(ref('Delivery')) },
    errors: ['not_found', 'endpoint_inactive'],
  }),
};

const sendExample: JsonObject = {
  post: operation('post', {
    id: 'sendExample',
    tag: ENDPOINTS,
    summary: 'Send the example of an event type to the endpoint',
    description:
      'The event has the chosen type and the example data of the catalog. It is in the feed, and is pushed only to this endpoint. Its id starts with `evt_EXAMPLE`, so that consumers do not take it for a real one.',
    scope: 'webhooks:write',
    parameters: [ENDPOINT],
    body: { schema: ref('ExampleRequest'), example: { event: 'ticket.created' } },
    idempotent: true,
    success: { status: 202, description: 'The delivery.', content: dataOf(ref('Delivery')) },
    errors: ['not_found', 'endpoint_inactive', 'unknown_event_type'],
  }),
};

const filterTest: JsonObject = {
  post: operation('post', {
    id: 'testFilter',
    tag: ENDPOINTS,
    summary: 'Test a filter with stored events',
    description:
      'Evaluates the filter for the newest events of the feed, at most 1,000 events, 4 MiB and 500 ms. One test of an organization runs at a time.',
    scope: 'webhooks:read',
    alsoScope: 'events:read',
    body: {
      schema: ref('FilterTest'),
      example: { filter: 'event.data.priority == "urgent"', events: ['ticket.created'] },
    },
    success: { status: 200, description: 'What it does with each event.', content: dataOf(ref('FilterTestResult')) },
    errors: ['unknown_event_type'],
  }),
};

const recover: JsonObject = {
  post: operation('post', {
    id: 'recoverDeliveries',
    tag: DELIVERIES,
    summary: 'Send failed, missed or never-sent events',
    scope: 'webhooks:write',
    parameters: [ENDPOINT],
    body: { schema: ref('Recovery'), example: { since_seq: 4127, status: 'failed', dry_run: true } },
    idempotent: true,
    success: { status: 202, description: 'The number of events.', content: dataOf(ref('RecoveryResult')) },
    errors: ['not_found', 'endpoint_inactive', 'recovery_limit_reached'],
  }),
};

const RECOVERY = pathParameter('recoveryId', 'The id of the recovery.');

const recoveries: JsonObject = {
  get: operation('get', {
    id: 'listRecoveries',
    tag: DELIVERIES,
    summary: 'List the recoveries of an endpoint',
    description: 'Those that run, and those that ended within the retention of events.',
    scope: 'webhooks:read',
    parameters: [ENDPOINT],
    success: {
      status: 200,
      description: 'The newest 50, newest first.',
      content: { 'application/json': { schema: objectOf({ data: listOf('RecoveryProgress') }) } },
    },
    errors: ['not_found'],
  }),
};

const recovery: JsonObject = {
  get: operation('get', {
    id: 'getRecovery',
    tag: DELIVERIES,
    summary: 'See how far a recovery is',
    scope: 'webhooks:read',
    parameters: [ENDPOINT, RECOVERY],
    success: { status: 200, description: 'The recovery.', content: dataOf(ref('RecoveryProgress')) },
    errors: ['not_found'],
  }),
  delete: operation('delete', {
    id: 'stopRecovery',
    tag: DELIVERIES,
    summary: 'Stop a recovery',
    description: 'Events that are scheduled by then are still sent. A recovery that has ended stays as it is.',
    scope: 'webhooks:write',
    parameters: [ENDPOINT, RECOVERY],
    success: { status: 200, description: 'The recovery.', content: dataOf(ref('RecoveryProgress')) },
    errors: ['not_found'],
  }),
};

const deliveries: JsonObject = {
  get: operation('get', {
    id: 'listDeliveries',
    tag: DELIVERIES,
    summary: 'List the deliveries of an endpoint',
    description:
      'With event or status=pending, a request looks at 10,000 deliveries at most. So a page may be short or empty, and still ' +
      'have a next_cursor.',
    scope: 'webhooks:read',
    parameters: [
      ENDPOINT,
      queryParameter('status', 'Only those in this status.', DELIVERY_STATUS),
      queryParameter('event', 'Only of this type.', { type: 'string', enum: EVENT_TYPES.filter(isFeedFilter) }),
      queryParameter('since', 'Only from this created_at on.', TIME),
      queryParameter('until', 'Only before this created_at.', TIME),
      ...pageParameters(DELIVERIES_PAGE),
    ],
    success: { status: 200, description: 'A page, newest first.', content: pageOf('Delivery') },
    errors: ['not_found', 'unknown_event_type'],
  }),
};

const undelivered: JsonObject = {
  get: operation('get', {
    id: 'listUndelivered',
    tag: DELIVERIES,
    summary: 'List what the endpoint should have and has not',
    description:
      'Deliveries that are pending or failed, and events that match the endpoint as it is now and were never sent. Events ' +
      'without a delivery are left out while they may still be sent, and while the delivery log lags. A request looks at ' +
      '5,000 events and reads 8 MiB at most. So a page may be short or empty, and still have a next_cursor.',
    scope: 'webhooks:read',
    parameters: [ENDPOINT, ...pageParameters(UNDELIVERED_PAGE)],
    success: { status: 200, description: 'A page, lowest seq first.', content: pageOf('UndeliveredEvent') },
    errors: ['not_found'],
  }),
};

const delivery: JsonObject = {
  get: operation('get', {
    id: 'getDelivery',
    tag: DELIVERIES,
    summary: 'Read a delivery with its attempts, its envelope and its request',
    scope: 'webhooks:read',
    parameters: [ENDPOINT, DELIVERY],
    success: { status: 200, description: 'The delivery.', content: dataOf(ref('DeliveryWithLog')) },
    errors: ['not_found'],
  }),
};

const replay: JsonObject = {
  post: operation('post', {
    id: 'replayDelivery',
    tag: DELIVERIES,
    summary: 'Send a delivery again',
    description: 'Sends the stored bytes with the same ids and a new signature, starting at attempt 1.',
    scope: 'webhooks:write',
    parameters: [ENDPOINT, DELIVERY],
    idempotent: true,
    success: { status: 202, description: 'The delivery, pending.', content: dataOf(ref('Delivery')) },
    errors: ['not_found', 'endpoint_inactive', 'event_pruned'],
  }),
};

const skip: JsonObject = {
  post: operation('post', {
    id: 'skipDelivery',
    tag: DELIVERIES,
    summary: 'End a pending delivery',
    description:
      'The delivery fails with `skipped` and is not tried again. At an ordered endpoint, those after it go on. A replay sends it later.',
    scope: 'webhooks:write',
    parameters: [ENDPOINT, DELIVERY],
    idempotent: true,
    success: { status: 202, description: 'The delivery, failed.', content: dataOf(ref('Delivery')) },
    errors: ['not_found', 'delivery_not_pending'],
  }),
};

const feed: JsonObject = {
  get: operation('get', {
    id: 'readFeed',
    tag: EVENTS,
    summary: 'Read the feed',
    description:
      'Returns a page of events, lowest seq first. Pass `next_seq` as the next `since` until it is null. Once you have ' +
      'handled the whole page, store the `seq` of its last event: that is your next `since` after a null. With `wait`, the request waits for an event if the page would be empty. With ' +
      '`Accept: text/event-stream` the feed is a stream: `id` is the seq, and `Last-Event-ID` resumes. Without it and ' +
      '`since`, the stream begins at the head. At its start and every 15 s it sends its position, an `id` without `data`, ' +
      'where clients that follow the HTML standard resume.',
    scope: 'events:read',
    parameters: [
      queryParameter('since', 'Events with a greater seq. Default: the oldest event in the feed.', {
        type: 'integer',
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
      }),
      queryParameter('cursor', 'Begin after the position of this cursor. Not together with since.', {
        type: 'string',
        pattern: CURSOR_NAME_PATTERN.source,
      }),
      limitParameter(FEED_PAGE),
      queryParameter('until', 'Events up to this seq.', {
        type: 'integer',
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
      }),
      queryParameter('order', '`desc`: newest first. Pass `next_seq` as the next `until`.', {
        type: 'string',
        enum: ['asc', 'desc'],
        default: 'asc',
      }),
      {
        ...queryParameter('event', 'Only this type; repeat it for several.', {
          type: 'array',
          items: { type: 'string', enum: EVENT_TYPES.filter(isFeedFilter) },
        }),
        style: 'form',
        explode: true,
      },
      queryParameter('widget_id', 'Only events of this widget.', UUID),
      queryParameter('wait', 'Seconds to wait for an event; not with `until` or `order=desc`.', {
        type: 'integer',
        minimum: 1,
        maximum: 30,
      }),
      {
        name: 'Last-Event-ID',
        in: 'header',
        description: 'Where to resume a stream. Takes precedence over since.',
        schema: { type: 'integer', minimum: 0 },
      },
    ],
    success: {
      status: 200,
      description:
        'A page, or a stream. `X-Oldest-Sequence` and `X-Head-Sequence` are the bounds of the feed (0 in an organization ' +
        'without events). If your position is below `X-Oldest-Sequence` - 1, the events in between are gone from the feed.',
      headers: {
        'X-Oldest-Sequence': { $ref: '#/components/headers/X-Oldest-Sequence' },
        'X-Head-Sequence': { $ref: '#/components/headers/X-Head-Sequence' },
      },
      content: {
        'application/json': {
          schema: objectOf({ data: listOf('Envelope'), next_seq: { type: ['integer', 'null'] } }),
        },
        'text/event-stream': { schema: { type: 'string' } },
      },
    },
    errors: ['unknown_event_type', 'not_found'],
  }),
};

const EVENT = pathParameter('id', 'The id of the event.');

const event: JsonObject = {
  get: operation('get', {
    id: 'getEvent',
    tag: EVENTS,
    summary: 'Read an event',
    scope: 'events:read',
    parameters: [EVENT],
    success: { status: 200, description: 'The envelope.', content: dataOf(ref('Envelope')) },
    errors: ['not_found'],
  }),
};

const eventDeliveries: JsonObject = {
  get: operation('get', {
    id: 'listEventDeliveries',
    tag: DELIVERIES,
    summary: 'Read what became of an event at each endpoint',
    description:
      'One answer for each endpoint that exists now, oldest first. Then those of up to 1,000 deleted endpoints.',
    scope: 'webhooks:read',
    parameters: [EVENT],
    success: { status: 200, description: 'The answers.', content: dataOf(listOf('EventAnswer')) },
    errors: ['not_found'],
  }),
};

const eventTypes: JsonObject = {
  get: operation('get', {
    id: 'listEventTypes',
    tag: EVENTS,
    summary: 'List the event types and the schemas of their data',
    scope: 'any',
    success: { status: 200, description: 'The catalog.', content: dataOf(listOf('EventType')) },
  }),
};

const apiKeys: JsonObject = {
  get: operation('get', {
    id: 'listApiKeys',
    tag: KEYS,
    summary: 'List the keys of the organization',
    scope: 'keys:write',
    success: {
      status: 200,
      description: 'The keys, oldest first: at most 1,000, valid ones first.',
      content: dataOf(listOf('ApiKey')),
    },
  }),
  post: operation('post', {
    id: 'createApiKey',
    tag: KEYS,
    summary: 'Create a key',
    description:
      'A key can grant only its own scopes, and only until it expires. Only this response contains the new key.',
    scope: 'keys:write',
    body: { schema: ref('NewApiKey'), example: { scopes: ['events:read'], expires_at: null } },
    idempotent: true,
    success: { status: 201, description: 'The key.', content: dataOf(ref('ApiKeyWithSecret')) },
    errors: ['api_key_limit_reached'],
  }),
};

const auditLog: JsonObject = {
  get: operation('get', {
    id: 'listAuditLog',
    tag: KEYS,
    summary: 'List who changed what in the organization',
    description:
      'An entry is written together with its change. Replays and recoveries get theirs before anything is sent.',
    scope: 'keys:write',
    parameters: pageParameters(AUDIT_LOG_PAGE),
    success: { status: 200, description: 'Newest first.', content: pageOf('AuditEntry') },
  }),
};

const apiKey: JsonObject = {
  delete: operation('delete', {
    id: 'revokeApiKey',
    tag: KEYS,
    summary: 'Revoke a key',
    description: 'The key stops working with the next request.',
    scope: 'keys:write',
    parameters: [pathParameter('id', 'The id of the key, which is its start.')],
    success: { status: 204, description: 'It is revoked.' },
    errors: ['not_found'],
  }),
};

const ingest: JsonObject = {
  post: operation('post', {
    id: 'ingestEvents',
    tag: INTERNAL,
    summary: 'Submit events',
    description:
      'All or none: one invalid event refuses the request. At most 500 events, 256 KiB each, 4 MiB in all. ' +
      'The rate limit counts events.',
    scope: 'events:write',
    body: {
      schema: {
        ...objectOf({ events: { type: 'array', minItems: 1, maxItems: 500, items: ref('NewEvent') } }),
        additionalProperties: false,
      },
      example: { events: [{ event: 'ticket.created', data: { ticket: { id: 'tkt_1', subject: 'Help' } } }] },
    },
    idempotent: true,
    success: {
      status: 202,
      description: 'Kafka has them. They come into the log in the order of the request.',
      content: dataOf({ type: 'array', items: objectOf({ id: EVENT_ID }) }),
    },
    errors: ['unknown_event_type'],
  }),
};

const liveChatSettings: JsonObject = {
  get: operation('get', {
    id: 'getLiveChatSettings',
    tag: LIVE_CHAT,
    summary: 'Read the thresholds of live-chat alerts',
    scope: 'settings:read',
    parameters: [ORG],
    success: { status: 200, description: 'The settings, or the defaults.', content: dataOf(ref('LiveChatSettings')) },
    errors: ['not_found'],
  }),
  put: operation('put', {
    id: 'putLiveChatSettings',
    tag: LIVE_CHAT,
    summary: 'Set the thresholds of live-chat alerts',
    description: 'Takes effect within the interval of sweeps (5 s), also for conversations that already wait.',
    scope: 'settings:write',
    parameters: [ORG],
    body: {
      schema: ref('NewLiveChatSettings'),
      example: {
        first_alert_seconds: 45,
        second_alert_seconds: 180,
        staff_alerts: { enabled: true, emails: ['night-shift@example.com'] },
      },
    },
    success: { status: 200, description: 'The settings as they are now.', content: dataOf(ref('LiveChatSettings')) },
    errors: ['not_found'],
  }),
};

const waitingConversations: JsonObject = {
  get: operation('get', {
    id: 'listWaitingConversations',
    tag: LIVE_CHAT,
    summary: 'List the conversations that wait for an agent',
    scope: 'settings:read',
    parameters: [ORG, limitParameter(WAITING_PAGE)],
    success: {
      status: 200,
      description: 'The longest wait first, at most `limit` of them and 4 MiB. `waiting` counts all.',
      content: {
        'application/json': {
          schema: objectOf({ data: listOf('WaitingConversation'), waiting: { type: 'integer', minimum: 0 } }),
        },
      },
    },
    errors: ['not_found'],
  }),
};

const alerts: JsonObject = {
  get: operation('get', {
    id: 'listAlerts',
    tag: LIVE_CHAT,
    summary: 'List the unanswered alerts',
    scope: 'settings:read',
    parameters: [ORG, ...pageParameters(ALERTS_PAGE)],
    success: { status: 200, description: 'Newest first, at most `limit` of them and 4 MiB.', content: pageOf('Alert') },
    errors: ['not_found'],
  }),
};

const SET_COOKIE: JsonObject = {
  'Set-Cookie': {
    description:
      '`gapless_session`: HttpOnly and SameSite=Strict. By https `__Host-gapless_session`, which is also Secure.',
    schema: { type: 'string' },
  },
};

const session: JsonObject = {
  post: operation('post', {
    id: 'openDashboardSession',
    tag: DASHBOARD,
    summary: 'Sign in to the dashboard',
    description:
      'With a key of an organization, at most 30 times a minute. After 30 failed tries in a minute from one address, or with one key id, wrong keys get 429. Valid keys still get in.',
    scope: 'sign_in',
    body: { schema: ref('NewSession'), example: { api_key: 'gk_<id>_<secret>' } },
    success: { status: 200, description: 'The session.', content: dataOf(ref('Session')), headers: SET_COOKIE },
  }),
  get: operation('get', {
    id: 'readDashboardSession',
    tag: DASHBOARD,
    summary: 'Read the session',
    scope: 'session',
    success: { status: 200, description: 'The session.', content: dataOf(ref('Session')) },
    errors: ['not_found'],
  }),
  delete: operation('delete', {
    id: 'closeDashboardSession',
    tag: DASHBOARD,
    summary: 'Sign out',
    description: 'The session ends with this request.',
    scope: 'session',
    success: { status: 204, description: 'It is over.', headers: SET_COOKIE },
    errors: ['not_found'],
  }),
};

const FIGURES_AGE =
  'An answer is reused for 2 s. Its attempts and outcomes from more than 5 minutes ago are counted once a minute. If a ' +
  'window has too much to count within 5 s, the answer is 422: ask for a shorter one.';

const overview: JsonObject = {
  get: operation('get', {
    id: 'readOverview',
    tag: DASHBOARD,
    summary: 'Read the figures of the organization',
    description: FIGURES_AGE,
    scope: 'webhooks:read',
    parameters: [
      queryParameter('minutes', 'How far to look back.', { type: 'integer', minimum: 5, maximum: 1_440, default: 60 }),
    ],
    success: { status: 200, description: 'The overview.', content: dataOf(ref('Overview')) },
  }),
};

const activity: JsonObject = {
  get: operation('get', {
    id: 'readActivity',
    tag: DASHBOARD,
    summary: 'Read the pushes of endpoints over time',
    description: FIGURES_AGE,
    scope: 'webhooks:read',
    parameters: [
      queryParameter('hours', 'How far to look back.', { type: 'integer', minimum: 1, maximum: 720, default: 24 }),
      queryParameter('endpoint_id', 'Only this endpoint.', { type: 'string' }),
    ],
    success: { status: 200, description: 'Each endpoint.', content: dataOf(listOf('Activity')) },
    errors: ['not_found'],
  }),
};

const storedEvent: JsonObject = {
  get: operation('get', {
    id: 'readEvent',
    tag: DASHBOARD,
    summary: 'Read a stored event and its deliveries',
    scope: 'events:read',
    parameters: [pathParameter('seq', 'The seq of the event, or its id.')],
    success: { status: 200, description: 'The event.', content: dataOf(ref('StoredEvent')) },
    errors: ['not_found'],
  }),
};

const mcpSubscriptions: JsonObject = {
  get: operation('get', {
    id: 'listMcpSubscriptions',
    tag: EVENTS,
    summary: 'List the webhook subscriptions of agents',
    description: 'Shows which agents have subscribed by MCP, and how far behind they are.',
    scope: 'webhooks:read',
    success: { status: 200, description: 'All of them, oldest first.', content: dataOf(listOf('McpSubscription')) },
  }),
};

const mcpSubscription: JsonObject = {
  delete: operation('delete', {
    id: 'endMcpSubscription',
    tag: EVENTS,
    summary: 'End the webhook subscription of an agent',
    description:
      'Deliveries stop at once. The agent is sent `terminated`, and the subscription is listed as `ended` until then. ' +
      'An agent with a valid key can subscribe again: to prevent that, revoke the key.',
    scope: 'webhooks:write',
    parameters: [pathParameter('id', 'The id of the subscription.')],
    success: { status: 204, description: 'It has ended.' },
    errors: ['not_found'],
  }),
};

const CURSOR = pathParameter('name', 'The name of the cursor.');

const cursors: JsonObject = {
  get: operation('get', {
    id: 'listCursors',
    tag: EVENTS,
    summary: 'List the cursors',
    description: 'Shows who reads the feed, and how far behind they are.',
    scope: 'events:read',
    success: { status: 200, description: 'At most 1,000 cursors, by name.', content: dataOf(listOf('Cursor')) },
  }),
};

const cursor: JsonObject = {
  get: operation('get', {
    id: 'getCursor',
    tag: EVENTS,
    summary: 'Read a cursor',
    scope: 'events:read',
    parameters: [CURSOR],
    success: { status: 200, description: 'The cursor.', content: dataOf(ref('Cursor')) },
    errors: ['not_found'],
  }),
  put: operation('put', {
    id: 'putCursor',
    tag: EVENTS,
    summary: 'Store the position of a reader',
    description:
      'Creates the cursor or moves it. A cursor only moves forward: if it is further already, it stays, and the response ' +
      'shows where it is. With `expected_seq` it moves to any `seq`, but only from that position.',
    scope: 'events:read',
    parameters: [
      pathParameter('name', '1 to 64 letters, digits, dots, underscores and hyphens. Begins with a letter or digit.'),
    ],
    body: { schema: ref('CursorMove'), example: { seq: 4127 } },
    success: { status: 200, description: 'The cursor as it is now.', content: dataOf(ref('Cursor')) },
    errors: ['cursor_conflict', 'cursor_limit_reached'],
  }),
  delete: operation('delete', {
    id: 'deleteCursor',
    tag: EVENTS,
    summary: 'Delete a cursor',
    description: 'Its position is forgotten. The events stay in the feed.',
    scope: 'events:read',
    parameters: [CURSOR],
    success: { status: 204, description: 'It is deleted.' },
    errors: ['not_found'],
  }),
};

const orgs: JsonObject = {
  get: operation('get', {
    id: 'listOrganizations',
    tag: ORGANIZATIONS,
    summary: 'List the organizations that have records',
    scope: 'orgs:write',
    isForServices: true,
    parameters: pageParameters(ORGS_PAGE),
    success: { status: 200, description: 'By id.', content: pageOf('ListedOrganization') },
  }),
};

const org: JsonObject = {
  put: operation('put', {
    id: 'putOrganization',
    tag: ORGANIZATIONS,
    summary: 'Create or replace the record of an organization',
    description: 'The dashboard and the portal show the names. An organization works without a record.',
    scope: 'orgs:write',
    isForServices: true,
    parameters: [MANAGED_ORG],
    body: {
      schema: ref('NewOrganization'),
      example: {
        name: 'Acme',
        widgets: [{ id: '6f1ab7a4-5b0a-4a4e-9c8e-0b1c2d3e4f50', name: 'Shop' }],
        metadata: { plan: 'pro' },
      },
    },
    success: { status: 200, description: 'The record.', content: dataOf(ref('Organization')) },
    errors: ['not_found'],
  }),
  get: operation('get', {
    id: 'getOrganization',
    tag: ORGANIZATIONS,
    summary: 'Read the record of an organization',
    scope: 'orgs:write',
    isForServices: true,
    parameters: [MANAGED_ORG],
    success: { status: 200, description: 'The record.', content: dataOf(ref('Organization')) },
    errors: ['not_found'],
  }),
  delete: operation('delete', {
    id: 'deleteOrganization',
    tag: ORGANIZATIONS,
    summary: 'Delete an organization',
    description:
      'Its endpoints, keys and sessions end at once. Its events leave with retention, and its audit log with its own. ' +
      'Later events of the organization get the next seq. The answer is 404 if nothing of it is known, not even events.',
    scope: 'orgs:write',
    isForServices: true,
    parameters: [MANAGED_ORG],
    success: { status: 204, description: 'It is deleted.' },
    errors: ['not_found'],
  }),
};

const orgApiKeys: JsonObject = {
  get: operation('get', {
    id: 'listOrganizationApiKeys',
    tag: ORGANIZATIONS,
    summary: 'List the keys of an organization',
    scope: 'keys:write',
    isForServices: true,
    parameters: [MANAGED_ORG],
    success: {
      status: 200,
      description: 'Oldest first, also expired and revoked ones. At most 1,000: valid ones come before others.',
      content: dataOf(listOf('ApiKey')),
    },
    errors: ['not_found'],
  }),
  post: operation('post', {
    id: 'createOrganizationApiKey',
    tag: ORGANIZATIONS,
    summary: 'Create a key of an organization',
    description: 'Any scope of an organization’s key, and any expiry. Only this response contains the new key.',
    scope: 'keys:write',
    isForServices: true,
    parameters: [MANAGED_ORG],
    body: {
      schema: ref('NewApiKey'),
      example: { name: 'Data warehouse', scopes: ['events:read'], expires_at: null },
    },
    idempotent: true,
    success: { status: 201, description: 'The key.', content: dataOf(ref('ApiKeyWithSecret')) },
    errors: ['not_found', 'api_key_limit_reached'],
  }),
};

const orgApiKey: JsonObject = {
  delete: operation('delete', {
    id: 'revokeOrganizationApiKey',
    tag: ORGANIZATIONS,
    summary: 'Revoke a key of an organization',
    description: 'The key stops working with the next request.',
    scope: 'keys:write',
    isForServices: true,
    parameters: [MANAGED_ORG, pathParameter('id', 'The id of the key, which is its start.')],
    success: { status: 204, description: 'It is revoked.' },
    errors: ['not_found'],
  }),
};

const orgStatistics: JsonObject = {
  get: operation('get', {
    id: 'readOrganizationStatistics',
    tag: ORGANIZATIONS,
    summary: 'Read what an organization used, by day',
    description: 'May be 10 s old. What cannot be counted in about 5 s is null, and is counted on by the next request.',
    scope: 'orgs:write',
    isForServices: true,
    parameters: [
      MANAGED_ORG,
      queryParameter('days', 'How many days, today included.', {
        type: 'integer',
        minimum: 1,
        maximum: 31,
        default: 7,
      }),
    ],
    success: { status: 200, description: 'The figures.', content: dataOf(ref('OrganizationStatistics')) },
    errors: ['not_found'],
  }),
};

const portalSessions: JsonObject = {
  post: operation('post', {
    id: 'createPortalSession',
    tag: PORTAL,
    summary: 'Make a link to the portal',
    description:
      'The link opens the portal once, within 15 minutes, for this organization and these scopes. A service key gives ' +
      'settings:read, settings:write and keys:write only if it has that scope itself, or keys:write.',
    scope: 'orgs:write',
    isForServices: true,
    parameters: [MANAGED_ORG],
    body: {
      schema: ref('NewPortalSession'),
      example: {
        scopes: ['webhooks:read', 'webhooks:write', 'events:read'],
        expires_in: 3_600,
        return_url: 'https://app.example.com/settings',
        user_label: 'ada@acme.example',
      },
    },
    idempotent: true,
    success: { status: 201, description: 'The link.', content: dataOf(ref('PortalLink')) },
    errors: ['not_found'],
  }),
};

const portal: JsonObject = {
  post: operation('post', {
    id: 'openPortalSession',
    tag: PORTAL,
    summary: 'Exchange the token of a link for the token of its session',
    description: 'A link works once. After 30 failed tries in a minute from one address, wrong tokens get 429.',
    scope: 'sign_in',
    body: { schema: ref('LinkToken'), example: { link_token: 'gpl_<token>' } },
    success: {
      status: 200,
      description: 'The session. Send its token as `Authorization: Bearer <token>`.',
      content: dataOf(objectOf({ token: { type: 'string' }, session: ref('PortalSession') })),
    },
    errors: ['link_used_or_expired'],
  }),
  get: operation('get', {
    id: 'readPortalSession',
    tag: PORTAL,
    summary: 'Read the session',
    scope: 'portal',
    success: { status: 200, description: 'The session.', content: dataOf(ref('PortalSession')) },
    errors: ['not_found'],
  }),
  delete: operation('delete', {
    id: 'closePortalSession',
    tag: PORTAL,
    summary: 'End the session',
    scope: 'portal',
    success: { status: 204, description: 'It is over.' },
    errors: ['not_found'],
  }),
};

const organizationNames: JsonObject = {
  get: operation('get', {
    id: 'readOrganizationNames',
    tag: DASHBOARD,
    summary: 'Read the names of the organization and its widgets',
    scope: 'any',
    success: { status: 200, description: 'The names.', content: dataOf(ref('OrganizationNames')) },
    errors: ['insufficient_scope'],
  }),
};

const foundDelivery: JsonObject = {
  get: operation('get', {
    id: 'findDelivery',
    tag: DASHBOARD,
    summary: 'Find a delivery by its id',
    scope: 'webhooks:read',
    parameters: [pathParameter('deliveryId', 'The id of the delivery.')],
    success: { status: 200, description: 'The delivery.', content: dataOf(ref('FoundDelivery')) },
    errors: ['not_found'],
  }),
};

const foundRecovery: JsonObject = {
  get: operation('get', {
    id: 'findRecovery',
    tag: DASHBOARD,
    summary: 'Find a recovery by its id',
    scope: 'webhooks:read',
    parameters: [pathParameter('recoveryId', 'The id of the recovery.')],
    success: { status: 200, description: 'The recovery.', content: dataOf(ref('RecoveryProgress')) },
    errors: ['not_found'],
  }),
};

const foundConversation: JsonObject = {
  get: operation('get', {
    id: 'findConversation',
    tag: DASHBOARD,
    summary: 'Find a chat by its id',
    scope: 'settings:read',
    parameters: [pathParameter('conversationId', 'The id of the chat.')],
    success: {
      status: 200,
      description: 'The chat in the queue, and its alerts.',
      content: dataOf(ref('FoundConversation')),
    },
  }),
};

const changes: JsonObject = {
  get: operation('get', {
    id: 'followChanges',
    tag: DASHBOARD,
    summary: 'Follow changes, to know when to read again',
    description:
      'A stream of server-sent events. `head`: the feed has events up to this seq. `changed`: endpoints, their health, ' +
      'waiting chats or alerts have changed. `beat`: nothing, every 15 s. The scopes of the session decide which of these it gets.',
    scope: 'page',
    success: {
      status: 200,
      description: 'The stream.',
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
    errors: ['not_found', 'insufficient_scope'],
  }),
};

const signingKeys: JsonObject = {
  get: operation('get', {
    id: 'readSigningKeys',
    tag: PUSHES,
    summary: 'Read the public keys that verify `v1a` signatures',
    description: 'While one key replaces another, both are listed and both sign.',
    scope: 'public',
    success: {
      status: 200,
      description: 'The keys. Keep them for as long as `Cache-Control` says.',
      content: { 'application/jwk-set+json': { schema: ref('SigningKeySet') } },
    },
  }),
};

/** `paths` of the document. */
export const PATHS: JsonObject = {
  '/api/v1/external/webhooks': webhooks,
  '/api/v1/external/webhooks/filter-test': filterTest,
  '/api/v1/external/webhooks/{id}': webhook,
  '/api/v1/external/webhooks/{id}/rotate-secret': rotateSecret,
  '/api/v1/external/webhooks/{id}/previous-secret': previousSecret,
  '/api/v1/external/webhooks/{id}/test': test,
  '/api/v1/external/webhooks/{id}/send-example': sendExample,
  '/api/v1/external/webhooks/{id}/recover': recover,
  '/api/v1/external/webhooks/{id}/recoveries': recoveries,
  '/api/v1/external/webhooks/{id}/recoveries/{recoveryId}': recovery,
  '/api/v1/external/webhooks/{id}/undelivered': undelivered,
  '/api/v1/external/webhooks/{id}/deliveries': deliveries,
  '/api/v1/external/webhooks/{id}/deliveries/{deliveryId}': delivery,
  '/api/v1/external/webhooks/{id}/deliveries/{deliveryId}/replay': replay,
  '/api/v1/external/webhooks/{id}/deliveries/{deliveryId}/skip': skip,
  '/api/v1/external/events': feed,
  '/api/v1/external/cursors': cursors,
  '/api/v1/external/mcp-subscriptions': mcpSubscriptions,
  '/api/v1/external/mcp-subscriptions/{id}': mcpSubscription,
  '/api/v1/external/cursors/{name}': cursor,
  '/api/v1/external/events/{id}': event,
  '/api/v1/external/events/{id}/deliveries': eventDeliveries,
  '/api/v1/external/event-types': eventTypes,
  '/api/v1/external/api-keys': apiKeys,
  '/api/v1/external/api-keys/{id}': apiKey,
  '/api/v1/external/audit-log': auditLog,
  '/api/v1/dashboard/session': session,
  '/api/v1/dashboard/organization': organizationNames,
  '/api/v1/dashboard/overview': overview,
  '/api/v1/dashboard/activity': activity,
  '/api/v1/dashboard/events/{seq}': storedEvent,
  '/api/v1/dashboard/deliveries/{deliveryId}': foundDelivery,
  '/api/v1/dashboard/recoveries/{recoveryId}': foundRecovery,
  '/api/v1/dashboard/conversations/{conversationId}': foundConversation,
  '/api/v1/dashboard/changes': changes,
  '/api/v1/internal/events': ingest,
  '/api/v1/internal/orgs': orgs,
  '/api/v1/internal/orgs/{orgId}': org,
  '/api/v1/internal/orgs/{orgId}/api-keys': orgApiKeys,
  '/api/v1/internal/orgs/{orgId}/api-keys/{id}': orgApiKey,
  '/api/v1/internal/orgs/{orgId}/statistics': orgStatistics,
  '/api/v1/internal/orgs/{orgId}/portal-sessions': portalSessions,
  '/api/v1/portal/session': portal,
  '/api/v1/internal/orgs/{orgId}/live-chat-settings': liveChatSettings,
  '/api/v1/internal/orgs/{orgId}/waiting-conversations': waitingConversations,
  '/api/v1/internal/orgs/{orgId}/alerts': alerts,
  '/.well-known/jwks.json': signingKeys,
};
