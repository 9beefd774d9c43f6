import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, bodyOf, dataOf } from './client.js';
import type { DeliveryStatus, EventType } from './resources.js';

/** How often the shown data is requested again. */
const LIVE_MS = 3_000;
const CALM_MS = 15_000;

export function sessionQuery() {
  return queryOptions({
    queryKey: ['session'],
    queryFn: () => dataOf(api.GET('/api/v1/dashboard/session')),
    staleTime: Infinity,
    retry: false,
  });
}

export function overviewQuery(minutes: number) {
  return queryOptions({
    queryKey: ['overview', minutes],
    queryFn: () => dataOf(api.GET('/api/v1/dashboard/overview', { params: { query: { minutes } } })),
    refetchInterval: LIVE_MS,
    placeholderData: keepPreviousData,
  });
}

export function endpointsQuery() {
  return queryOptions({
    queryKey: ['endpoints'],
    queryFn: () => dataOf(api.GET('/api/v1/external/webhooks')),
    refetchInterval: LIVE_MS,
  });
}

/** The activity of all endpoints, for the small charts in lists. */
export function activityQuery(hours: number) {
  return queryOptions({
    queryKey: ['activity', hours],
    queryFn: () => dataOf(api.GET('/api/v1/dashboard/activity', { params: { query: { hours } } })),
    refetchInterval: CALM_MS,
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
    refetchInterval: LIVE_MS,
    placeholderData: keepPreviousData,
  });
}

export function endpointQuery(id: string) {
  return queryOptions({
    queryKey: ['endpoints', id],
    queryFn: () => dataOf(api.GET('/api/v1/external/webhooks/{id}', { params: { path: { id } } })),
    refetchInterval: LIVE_MS,
  });
}

/** Which deliveries of an endpoint to list. */
export interface DeliveryFilter {
  readonly status?: DeliveryStatus | undefined;
  readonly event?: EventType['event'] | undefined;
  readonly since?: string | undefined;
}

export const DELIVERY_PAGE_SIZE = 25;

export function deliveriesQuery(endpointId: string, filter: DeliveryFilter, cursor: string | undefined) {
  return queryOptions({
    queryKey: ['endpoints', endpointId, 'deliveries', filter, cursor ?? null],
    queryFn: () => {
      const query = { ...filter, cursor, limit: DELIVERY_PAGE_SIZE };
      const params = { path: { id: endpointId }, query };
      return bodyOf(api.GET('/api/v1/external/webhooks/{id}/deliveries', { params }));
    },
    refetchInterval: LIVE_MS,
    placeholderData: keepPreviousData,
  });
}

export function deliveryQuery(endpointId: string, deliveryId: string) {
  return queryOptions({
    queryKey: ['endpoints', endpointId, 'delivery', deliveryId],
    queryFn: () => {
      const params = { path: { id: endpointId, deliveryId } };
      return dataOf(api.GET('/api/v1/external/webhooks/{id}/deliveries/{deliveryId}', { params }));
    },
    // A pending delivery may change at any moment; an ended one changes only by a replay.
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? 1_000 : CALM_MS),
  });
}

export function eventTypesQuery() {
  return queryOptions({
    queryKey: ['event-types'],
    queryFn: () => dataOf(api.GET('/api/v1/external/event-types')),
    staleTime: Infinity,
  });
}

export function eventQuery(seq: number) {
  return queryOptions({
    queryKey: ['event', seq],
    queryFn: () => dataOf(api.GET('/api/v1/dashboard/events/{seq}', { params: { path: { seq: String(seq) } } })),
    refetchInterval: LIVE_MS,
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
    refetchInterval: CALM_MS,
    placeholderData: keepPreviousData,
  });
}

export function liveChatSettingsQuery(orgId: string) {
  return queryOptions({
    queryKey: ['live-chat', orgId, 'settings'],
    queryFn: () => dataOf(api.GET('/api/v1/internal/orgs/{orgId}/live-chat-settings', { params: { path: { orgId } } })),
  });
}

export function waitingConversationsQuery(orgId: string) {
  return queryOptions({
    queryKey: ['live-chat', orgId, 'waiting'],
    queryFn: () =>
      bodyOf(api.GET('/api/v1/internal/orgs/{orgId}/waiting-conversations', { params: { path: { orgId } } })),
    refetchInterval: LIVE_MS,
  });
}

export function alertsQuery(orgId: string) {
  return queryOptions({
    queryKey: ['live-chat', orgId, 'alerts'],
    queryFn: () => dataOf(api.GET('/api/v1/internal/orgs/{orgId}/alerts', { params: { path: { orgId } } })),
    refetchInterval: LIVE_MS,
  });
}
