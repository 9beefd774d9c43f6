import type { OrgId } from '#libs/domain';
import type { ApiKeyScope } from '#libs/postgres';
import type { Ask } from './http-port.js';
import { posting, withJson } from './api-suite.js';

/** Things of one org that operations name. */
export interface Named {
  readonly orgId: OrgId;
  readonly endpointUrl: string;
  readonly endpointId: string;
  readonly deliveryId: string;
  /** An endpoint that refuses everything, and a delivery of it that is pending. */
  readonly failingEndpointId: string;
  readonly pendingDeliveryId: string;
  readonly apiKeyId: string;
  readonly cursorName: string;
  /** A webhook subscription of an agent. */
  readonly subscriptionId: string;
  readonly recoveryId: string;
  /** An event in the feed. */
  readonly eventId: string;
}

/** An operation of contract 5.1, 5.4. */
export interface Operation {
  /** Its `operationId` in the OpenAPI document. */
  readonly id: string;
  readonly scope: ApiKeyScope | 'any';
  /** The status of its good answer. */
  readonly status: number;
  /** What in its path is an id. */
  readonly ids: readonly (
    | 'orgId'
    | 'endpointId'
    | 'deliveryId'
    | 'failingEndpointId'
    | 'pendingDeliveryId'
    | 'apiKeyId'
    | 'cursorName'
    | 'subscriptionId'
    | 'recoveryId'
    | 'eventId'
  )[];
  /** A request that is accepted. */
  readonly ask: (named: Named) => Ask;
}

const ROOT = '/api/v1/external/webhooks';
const endpoint = ({ endpointId }: Named) => `${ROOT}/${endpointId}`;
const org = ({ orgId }: Named) => `/api/v1/internal/orgs/${orgId}`;
const recovery = (named: Named) => `${endpoint(named)}/recoveries/${named.recoveryId}`;
const cursor = ({ cursorName }: Named) => `/api/v1/external/cursors/${cursorName}`;
const event = ({ eventId }: Named) => `/api/v1/external/events/${eventId}`;
const delivery = (named: Named) => `${endpoint(named)}/deliveries/${named.deliveryId}`;

export const OPERATIONS: readonly Operation[] = [
  {
    id: 'listWebhooks',
    scope: 'webhooks:read',
    status: 200,
    ids: [],
    ask: () => ({ method: 'GET', path: ROOT }),
  },
  {
    id: 'createWebhook',
    scope: 'webhooks:write',
    status: 201,
    ids: [],
    ask: ({ endpointUrl }) => posting(ROOT, { url: endpointUrl, events: ['ticket.created'] }),
  },
  {
    id: 'getWebhook',
    scope: 'webhooks:read',
    status: 200,
    ids: ['endpointId'],
    ask: (named) => ({ method: 'GET', path: endpoint(named) }),
  },
  {
    id: 'updateWebhook',
    scope: 'webhooks:write',
    status: 200,
    ids: ['endpointId'],
    ask: (named) => withJson({ method: 'PATCH', path: endpoint(named) }, { name: 'Night shift', widget_ids: null }),
  },
  {
    id: 'deleteWebhook',
    scope: 'webhooks:write',
    status: 204,
    ids: ['endpointId'],
    ask: (named) => ({ method: 'DELETE', path: endpoint(named) }),
  },
  {
    id: 'sendExample',
    scope: 'webhooks:write',
    status: 202,
    ids: ['endpointId'],
    ask: (named) => posting(`${endpoint(named)}/send-example`, { event: 'ticket.created' }),
  },
  {
    id: 'testWebhook',
    scope: 'webhooks:write',
    status: 202,
    ids: ['endpointId'],
    ask: (named) => ({ method: 'POST', path: `${endpoint(named)}/test` }),
  },
  {
    id: 'rotateWebhookSecret',
    scope: 'webhooks:write',
    status: 200,
    ids: ['endpointId'],
    ask: (named) => ({ method: 'POST', path: `${endpoint(named)}/rotate-secret` }),
  },
  {
    id: 'endSecretOverlap',
    scope: 'webhooks:write',
    status: 204,
    ids: ['endpointId'],
    ask: (named) => ({ method: 'DELETE', path: `${endpoint(named)}/previous-secret` }),
  },
  {
    id: 'testFilter',
    scope: 'webhooks:read',
    status: 200,
    ids: [],
    ask: () => posting(`${ROOT}/filter-test`, { filter: 'event.seq > 0', events: ['ticket.created'] }),
  },
  {
    id: 'recoverDeliveries',
    scope: 'webhooks:write',
    status: 202,
    ids: ['endpointId'],
    ask: (named) => posting(`${endpoint(named)}/recover`, { since_seq: 0, status: 'failed', dry_run: true }),
  },
  {
    id: 'listRecoveries',
    scope: 'webhooks:read',
    status: 200,
    ids: ['endpointId'],
    ask: (named) => ({ method: 'GET', path: `${endpoint(named)}/recoveries` }),
  },
  {
    id: 'getRecovery',
    scope: 'webhooks:read',
    status: 200,
    ids: ['endpointId', 'recoveryId'],
    ask: (named) => ({ method: 'GET', path: recovery(named) }),
  },
  {
    id: 'stopRecovery',
    scope: 'webhooks:write',
    status: 200,
    ids: ['endpointId', 'recoveryId'],
    ask: (named) => ({ method: 'DELETE', path: recovery(named) }),
  },
  {
    id: 'listAuditLog',
    scope: 'keys:write',
    status: 200,
    ids: [],
    ask: () => ({ method: 'GET', path: '/api/v1/external/audit-log' }),
  },
  {
    id: 'listDeliveries',
    scope: 'webhooks:read',
    status: 200,
    ids: ['endpointId'],
    ask: (named) => ({ method: 'GET', path: `${endpoint(named)}/deliveries?limit=250&status=delivered` }),
  },
  {
    id: 'listUndelivered',
    scope: 'webhooks:read',
    status: 200,
    ids: ['endpointId'],
    ask: (named) => ({ method: 'GET', path: `${endpoint(named)}/undelivered?limit=10` }),
  },
  {
    id: 'getDelivery',
    scope: 'webhooks:read',
    status: 200,
    ids: ['endpointId', 'deliveryId'],
    ask: (named) => ({ method: 'GET', path: delivery(named) }),
  },
  {
    id: 'replayDelivery',
    scope: 'webhooks:write',
    status: 202,
    ids: ['endpointId', 'deliveryId'],
    ask: (named) => ({ method: 'POST', path: `${delivery(named)}/replay` }),
  },
  {
    id: 'skipDelivery',
    scope: 'webhooks:write',
    status: 202,
    ids: ['failingEndpointId', 'pendingDeliveryId'],
    ask: ({ failingEndpointId, pendingDeliveryId }) => ({
      method: 'POST',
      path: `${ROOT}/${failingEndpointId}/deliveries/${pendingDeliveryId}/skip`,
    }),
  },
  {
    id: 'readFeed',
    scope: 'events:read',
    status: 200,
    ids: [],
    ask: () => ({ method: 'GET', path: '/api/v1/external/events?since=0&limit=1000&event=test' }),
  },
  {
    id: 'getEvent',
    scope: 'events:read',
    status: 200,
    ids: ['eventId'],
    ask: (named) => ({ method: 'GET', path: event(named) }),
  },
  {
    id: 'listEventDeliveries',
    scope: 'webhooks:read',
    status: 200,
    ids: ['eventId'],
    ask: (named) => ({ method: 'GET', path: `${event(named)}/deliveries` }),
  },
  {
    id: 'putCursor',
    scope: 'events:read',
    status: 200,
    ids: [],
    ask: (named) => withJson({ method: 'PUT', path: cursor(named) }, { seq: 0 }),
  },
  {
    id: 'getCursor',
    scope: 'events:read',
    status: 200,
    ids: ['cursorName'],
    ask: (named) => ({ method: 'GET', path: cursor(named) }),
  },
  {
    id: 'listCursors',
    scope: 'events:read',
    status: 200,
    ids: [],
    ask: () => ({ method: 'GET', path: '/api/v1/external/cursors' }),
  },
  {
    id: 'deleteCursor',
    scope: 'events:read',
    status: 204,
    ids: ['cursorName'],
    ask: (named) => ({ method: 'DELETE', path: cursor(named) }),
  },
  {
    id: 'listMcpSubscriptions',
    scope: 'webhooks:read',
    status: 200,
    ids: [],
    ask: () => ({ method: 'GET', path: '/api/v1/external/mcp-subscriptions' }),
  },
  {
    id: 'endMcpSubscription',
    scope: 'webhooks:write',
    status: 204,
    ids: ['subscriptionId'],
    ask: ({ subscriptionId }) => ({ method: 'DELETE', path: `/api/v1/external/mcp-subscriptions/${subscriptionId}` }),
  },
  {
    id: 'listEventTypes',
    scope: 'any',
    status: 200,
    ids: [],
    ask: () => ({ method: 'GET', path: '/api/v1/external/event-types' }),
  },
  {
    id: 'listApiKeys',
    scope: 'keys:write',
    status: 200,
    ids: [],
    ask: () => ({ method: 'GET', path: '/api/v1/external/api-keys' }),
  },
  {
    id: 'createApiKey',
    scope: 'keys:write',
    status: 201,
    ids: [],
    ask: () => posting('/api/v1/external/api-keys', { scopes: ['keys:write'], expires_at: '2100-01-01T00:00:00Z' }),
  },
  {
    id: 'revokeApiKey',
    scope: 'keys:write',
    status: 204,
    ids: ['apiKeyId'],
    ask: ({ apiKeyId }) => ({ method: 'DELETE', path: `/api/v1/external/api-keys/${apiKeyId}` }),
  },
  {
    id: 'readOverview',
    scope: 'webhooks:read',
    status: 200,
    ids: [],
    ask: () => ({ method: 'GET', path: '/api/v1/dashboard/overview?minutes=5' }),
  },
  {
    id: 'readActivity',
    scope: 'webhooks:read',
    status: 200,
    ids: ['endpointId'],
    ask: ({ endpointId }) => ({ method: 'GET', path: `/api/v1/dashboard/activity?hours=1&endpoint_id=${endpointId}` }),
  },
  {
    id: 'readEvent',
    scope: 'events:read',
    status: 200,
    ids: [],
    ask: () => ({ method: 'GET', path: '/api/v1/dashboard/events/1' }),
  },
  {
    id: 'findDelivery',
    scope: 'webhooks:read',
    status: 200,
    ids: ['deliveryId'],
    ask: ({ deliveryId }) => ({ method: 'GET', path: `/api/v1/dashboard/deliveries/${deliveryId}` }),
  },
  {
    id: 'findRecovery',
    scope: 'webhooks:read',
    status: 200,
    ids: ['recoveryId'],
    ask: ({ recoveryId }) => ({ method: 'GET', path: `/api/v1/dashboard/recoveries/${recoveryId}` }),
  },
  {
    id: 'findConversation',
    scope: 'settings:read',
    status: 200,
    ids: [],
    ask: () => ({ method: 'GET', path: '/api/v1/dashboard/conversations/cnv_1' }),
  },
  {
    id: 'ingestEvents',
    scope: 'events:write',
    status: 202,
    ids: [],
    ask: ({ orgId }) =>
      posting('/api/v1/internal/events', { events: [{ event: 'ticket.created', org_id: orgId, data: {} }] }),
  },
  {
    id: 'getLiveChatSettings',
    scope: 'settings:read',
    status: 200,
    ids: ['orgId'],
    ask: (named) => ({ method: 'GET', path: `${org(named)}/live-chat-settings` }),
  },
  {
    id: 'putLiveChatSettings',
    scope: 'settings:write',
    status: 200,
    ids: ['orgId'],
    ask: (named) =>
      withJson(
        { method: 'PUT', path: `${org(named)}/live-chat-settings` },
        {
          first_alert_seconds: 30,
          second_alert_seconds: 90,
          staff_alerts: { enabled: false, emails: ['night-shift@example.com'] },
        },
      ),
  },
  {
    id: 'listWaitingConversations',
    scope: 'settings:read',
    status: 200,
    ids: ['orgId'],
    ask: (named) => ({ method: 'GET', path: `${org(named)}/waiting-conversations?limit=1000` }),
  },
  {
    id: 'listAlerts',
    scope: 'settings:read',
    status: 200,
    ids: ['orgId'],
    ask: (named) => ({ method: 'GET', path: `${org(named)}/alerts?limit=10` }),
  },
];

/** Operations for service keys, and about the names and the portal of an org: `organizations.e2e.ts` shows them. */
export const ORGANIZATION_OPERATIONS = [
  'listOrganizations',
  'putOrganization',
  'getOrganization',
  'deleteOrganization',
  'listOrganizationApiKeys',
  'createOrganizationApiKey',
  'revokeOrganizationApiKey',
  'readOrganizationStatistics',
  'readOrganizationNames',
  'createPortalSession',
  'openPortalSession',
  'readPortalSession',
  'closePortalSession',
] as const;

/** Operations for everyone. */
export const PUBLIC_OPERATIONS = ['readSigningKeys'] as const;

/** Operations about who is signed in to the dashboard: not by key, so that nothing of the above can be said of them. */
export const SESSION_OPERATIONS = [
  'openDashboardSession',
  'readDashboardSession',
  'closeDashboardSession',
  'followChanges',
] as const;
