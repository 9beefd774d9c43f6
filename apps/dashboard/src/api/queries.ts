import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { browserClock } from '../time/clock.js';
import { api, bodyOf, dataOf } from './client.js';
import { isStreaming } from './connection.js';
import type { Delivery, DeliveryStatus, EventType } from './resources.js';

/** How often the shown data is requested again while the stream of changes is closed. */
export const LIVE_MS = 5_000;
/** While it is open, it says when to ask. A rare request remains, in case it misses something. */
const IDLE_MS = 60_000;
/** A delivery whose next attempt is this close is watched. */
const SOON_MS = 15_000;
const WATCH_MS = 1_000;

const live = {
  refetchInterval: () => (isStreaming() ? IDLE_MS : LIVE_MS),
  meta: { isLive: true },
} as const;

export function sessionQuery() {
  return queryOptions({
    queryKey: ['session'],
    queryFn: () => dataOf(api.GET('/api/v1/dashboard/session')),
    // It is never read again, not even after an outage: with a portal session, the api would answer 404.
    staleTime: 'static',
    retry: false,
  });
}

export function overviewQuery(minutes: number) {
  return queryOptions({
    queryKey: ['overview', minutes],
    queryFn: () => dataOf(api.GET('/api/v1/dashboard/overview', { params: { query: { minutes } } })),
    ...live,
    placeholderData: keepPreviousData,
  });
}

export function endpointsQuery() {
  return queryOptions({
    queryKey: ['endpoints'],
    queryFn: () => dataOf(api.GET('/api/v1/external/webhooks')),
    ...live,
  });
}

/** The activity of all endpoints, for the small charts in lists. */
export function activityQuery(hours: number) {
  return queryOptions({
    queryKey: ['activity', hours],
    queryFn: () => dataOf(api.GET('/api/v1/dashboard/activity', { params: { query: { hours } } })),
    ...live,
  });
}

export function endpointActivityQuery(endpointId: string, hours: number) {
  return queryOptions({
    queryKey: ['activity', hours, endpointId],
    queryFn: async () => {
      const query = { hours, endpoint_id: endpointId };
      const [activity] = await dataOf(api.GET('/api/v1/dashboard/activity', { params: { query } }));
      return activity?.buckets ?? [];
    },
    ...live,
    placeholderData: keepPreviousData,
  });
}

export function endpointQuery(id: string) {
  return queryOptions({
    queryKey: ['endpoints', id],
    queryFn: () => dataOf(api.GET('/api/v1/external/webhooks/{id}', { params: { path: { id } } })),
    ...live,
  });
}

/** Which deliveries of an endpoint to list. */
export interface DeliveryFilter {
  readonly status?: DeliveryStatus | undefined;
  readonly event?: EventType['event'] | undefined;
  readonly since?: string | undefined;
}

export const DELIVERY_PAGE_SIZE = 25;
/** So many empty pages are passed over. After them, the reader decides whether to look further. */
const EMPTY_PAGES = 20;

export function deliveriesQuery(endpointId: string, filter: DeliveryFilter, cursor: string | undefined) {
  return queryOptions({
    queryKey: ['endpoints', endpointId, 'deliveries', filter, cursor ?? null],
    queryFn: async () => {
      const read = (from: string | undefined) => {
        const query = { ...filter, cursor: from, limit: DELIVERY_PAGE_SIZE };
        const params = { path: { id: endpointId }, query };
        return bodyOf(api.GET('/api/v1/external/webhooks/{id}/deliveries', { params }));
      };
      let page = await read(cursor);
      // Pages of one type may be empty before the last one.
      for (let more = 0; page.data.length === 0 && page.next_cursor !== null && more < EMPTY_PAGES; more++) {
        page = await read(page.next_cursor);
      }
      return page;
    },
    ...live,
    placeholderData: keepPreviousData,
  });
}

function isDueSoon(delivery: Delivery | undefined): boolean {
  if (delivery?.status !== 'pending') return false;
  const { next_attempt_at: next } = delivery;
  return next === null || new Date(next).getTime() < browserClock.now() + SOON_MS;
}

export function deliveryQuery(endpointId: string, deliveryId: string) {
  return queryOptions({
    queryKey: ['endpoints', endpointId, 'delivery', deliveryId],
    queryFn: () => {
      const params = { path: { id: endpointId, deliveryId } };
      return dataOf(api.GET('/api/v1/external/webhooks/{id}/deliveries/{deliveryId}', { params }));
    },
    ...live,
    // A pending delivery may change at any moment; an ended one changes only by a replay.
    refetchInterval: ({ state: { data } }) => (isDueSoon(data) ? WATCH_MS : live.refetchInterval()),
  });
}

export function eventTypesQuery() {
  return queryOptions({
    queryKey: ['event-types'],
    queryFn: () => dataOf(api.GET('/api/v1/external/event-types')),
    staleTime: Infinity,
  });
}

/** @param name the seq of the event, or its id */
export function eventQuery(name: number | string) {
  return queryOptions({
    queryKey: ['event', name],
    queryFn: () => dataOf(api.GET('/api/v1/dashboard/events/{seq}', { params: { path: { seq: String(name) } } })),
    ...live,
  });
}

/** What became of an event at each endpoint. */
export function eventAnswersQuery(id: string) {
  return queryOptions({
    queryKey: ['event', id, 'answers'],
    queryFn: () => dataOf(api.GET('/api/v1/external/events/{id}/deliveries', { params: { path: { id } } })),
    ...live,
  });
}

export function foundDeliveryQuery(deliveryId: string) {
  return queryOptions({
    queryKey: ['found-delivery', deliveryId],
    queryFn: () => dataOf(api.GET('/api/v1/dashboard/deliveries/{deliveryId}', { params: { path: { deliveryId } } })),
  });
}

export function recoveriesQuery(endpointId: string) {
  return queryOptions({
    queryKey: ['endpoints', endpointId, 'recoveries'],
    queryFn: () =>
      dataOf(api.GET('/api/v1/external/webhooks/{id}/recoveries', { params: { path: { id: endpointId } } })),
    ...live,
    refetchInterval: ({ state: { data } }) =>
      data?.some(({ status }) => status === 'running') === true ? WATCH_MS : live.refetchInterval(),
  });
}

export function foundRecoveryQuery(recoveryId: string) {
  return queryOptions({
    queryKey: ['found-recovery', recoveryId],
    queryFn: () => dataOf(api.GET('/api/v1/dashboard/recoveries/{recoveryId}', { params: { path: { recoveryId } } })),
    ...live,
    refetchInterval: ({ state: { data } }) => (data?.status === 'running' ? WATCH_MS : false),
  });
}

/** Whether a chat waits, and its alerts. */
export function foundConversationQuery(conversationId: string) {
  return queryOptions({
    queryKey: ['found-conversation', conversationId],
    queryFn: () =>
      dataOf(api.GET('/api/v1/dashboard/conversations/{conversationId}', { params: { path: { conversationId } } })),
    ...live,
  });
}

/** The names of the organization and its widgets, if the product's backend has set them. */
export function organizationQuery() {
  return queryOptions({
    queryKey: ['organization'],
    queryFn: () => dataOf(api.GET('/api/v1/dashboard/organization')),
    staleTime: 60_000,
  });
}

export function apiKeysQuery() {
  return queryOptions({
    queryKey: ['api-keys'],
    queryFn: () => dataOf(api.GET('/api/v1/external/api-keys')),
  });
}

export function auditLogQuery(cursor: string | undefined) {
  return queryOptions({
    queryKey: ['audit-log', cursor ?? null],
    queryFn: () => bodyOf(api.GET('/api/v1/external/audit-log', { params: { query: { cursor, limit: 50 } } })),
    ...live,
    placeholderData: keepPreviousData,
  });
}

export function liveChatSettingsQuery(orgId: string) {
  return queryOptions({
    queryKey: ['live-chat', orgId, 'settings'],
    queryFn: () => dataOf(api.GET('/api/v1/internal/orgs/{orgId}/live-chat-settings', { params: { path: { orgId } } })),
    ...live,
  });
}

export function waitingConversationsQuery(orgId: string) {
  return queryOptions({
    queryKey: ['live-chat', orgId, 'waiting'],
    queryFn: () =>
      bodyOf(api.GET('/api/v1/internal/orgs/{orgId}/waiting-conversations', { params: { path: { orgId } } })),
    ...live,
  });
}

const ALERT_PAGE_SIZE = 25;

export function alertsQuery(orgId: string, cursor: string | undefined) {
  return queryOptions({
    queryKey: ['live-chat', orgId, 'alerts', cursor ?? null],
    queryFn: () => {
      const params = { path: { orgId }, query: { cursor, limit: ALERT_PAGE_SIZE } };
      return bodyOf(api.GET('/api/v1/internal/orgs/{orgId}/alerts', { params }));
    },
    placeholderData: keepPreviousData,
    ...live,
  });
}
