import { describe, expect, it } from '@jest/globals';
import type { EndpointId, WidgetId } from '../kernel/index.js';
import { explainDelivery, type DeliveryCase } from './explain-delivery.js';

const WIDGET = '0d1c6f4e-0000-4000-8000-000000000001' as WidgetId;
const OTHER_WIDGET = '0d1c6f4e-0000-4000-8000-000000000002' as WidgetId;

interface Changes {
  readonly event?: Partial<DeliveryCase['event']>;
  readonly endpoint?: Partial<DeliveryCase['endpoint']>;
  readonly delivery?: DeliveryCase['delivery'];
  readonly isFiltered?: boolean;
  readonly wasInactive?: boolean;
}

function reasonOf({ event, endpoint, delivery, isFiltered = false, wasInactive = false }: Changes): string {
  return explainDelivery({
    event: { type: 'ticket.created', widgetId: WIDGET, appendedAtMs: 2_000, ...event },
    endpoint: {
      id: 'whe_1' as EndpointId,
      isActive: true,
      events: ['ticket.created'],
      widgetIds: null,
      createdAtMs: 1_000,
      ...endpoint,
    },
    delivery,
    isFiltered,
    wasInactive,
  }).reason;
}

describe('an event with a delivery', () => {
  it.each([
    ['delivered', 'delivered'],
    ['pending', 'waits_for_attempt'],
    ['failed', 'failed'],
  ] as const)('is explained by its status %s', (status, reason) => {
    const delivery = { status, attempts: 1, lastError: null };
    // Settings of now do not matter: it was routed by those of then.
    expect(reasonOf({ delivery, endpoint: { events: [], isActive: false } })).toBe(reason);
  });
});

describe('an event without a delivery', () => {
  it.each<[string, string, Changes]>([
    ['is a test of another endpoint', 'test_of_another_endpoint', { event: { type: 'test' } }],
    ['is older than the endpoint', 'endpoint_is_newer', { event: { appendedAtMs: 999 } }],
    ['is of a type without subscription', 'not_subscribed', { endpoint: { events: ['ticket.reply'] } }],
    ['is of another widget', 'out_of_widget_scope', { endpoint: { widgetIds: [OTHER_WIDGET] } }],
    ['is left out by the filter', 'filtered', { isFiltered: true }],
    ['came while the endpoint was inactive', 'endpoint_was_inactive', { wasInactive: true }],
    ['came to an endpoint that is inactive', 'endpoint_was_inactive', { endpoint: { isActive: false } }],
    ['is on its way', 'not_routed_yet', { endpoint: { widgetIds: [WIDGET] } }],
  ])('%s', (_, reason, changes) => {
    expect(reasonOf(changes)).toBe(reason);
  });
});
