import { isExampleId } from '../events/index.js';
import type { EndpointId, EventId, WidgetId } from '../kernel/index.js';
import type { EventFilters } from './event-filter.js';
import { inWidgetScope, type WidgetScope } from './widget-scope.js';

/** The settings of an endpoint that select its events (contract 3.1, 7.3). */
export interface Subscriber {
  readonly id: EndpointId;
  readonly isActive: boolean;
  readonly events: readonly string[];
  readonly widgetIds: WidgetScope;
  /** Whether a list of widgets leaves out events without a widget, too. */
  readonly isExact?: boolean;
  /** An expression that leaves out events; `null` or absent for none. */
  readonly filter?: string | null;
}

/** The members of an event that decide which endpoints receive it. */
export interface Routable {
  readonly id: EventId;
  readonly event: string;
  readonly widgetId: WidgetId | null;
  /** The endpoint of a test event, which gets it whatever its subscription is (contract 4.5); otherwise null. */
  readonly targetEndpoint: EndpointId | null;
  readonly envelope: Buffer;
}

/** Whether an endpoint receives an event. */
export type Reception =
  | { readonly kind: 'received' }
  /** The endpoint's filter has no answer. So the endpoint receives the event: too much is better than a lost event. */
  | { readonly kind: 'received_unfiltered'; readonly reason: string }
  | { readonly kind: 'inactive' | 'not_subscribed' | 'out_of_scope' | 'filtered' };

// Made once: the router asks for each event and endpoint.
const RECEIVED: Reception = { kind: 'received' };
const INACTIVE: Reception = { kind: 'inactive' };
const NOT_SUBSCRIBED: Reception = { kind: 'not_subscribed' };
const OUT_OF_SCOPE: Reception = { kind: 'out_of_scope' };
const FILTERED: Reception = { kind: 'filtered' };

/**
 * Decides whether the event is pushed to the endpoint. The endpoint must be active, and either subscribed, in scope and
 * matched by its filter, or the target of a test.
 */
export function receptionOf(endpoint: Subscriber, event: Routable, filters: EventFilters): Reception {
  if (!endpoint.isActive) return INACTIVE;
  if (event.targetEndpoint !== null) {
    return event.targetEndpoint === endpoint.id ? RECEIVED : NOT_SUBSCRIBED;
  }
  // A repair puts an example back without its target.
  if (isExampleId(event.id) || !endpoint.events.includes(event.event)) return NOT_SUBSCRIBED;
  if (endpoint.isExact === true && endpoint.widgetIds !== null && event.widgetId === null) {
    return OUT_OF_SCOPE;
  }
  if (!inWidgetScope(endpoint.widgetIds, event.widgetId)) return OUT_OF_SCOPE;
  return filteredReception(endpoint.filter ?? null, event.envelope, filters);
}

/** Decides whether an endpoint with the filter receives an event that it subscribes to. */
export function filteredReception(filter: string | null, envelope: Buffer, filters: EventFilters): Reception {
  if (filter === null) return RECEIVED;
  const result = filters.test(filter, envelope);
  switch (result.kind) {
    case 'matches':
      return RECEIVED;
    case 'leaves_out':
      return FILTERED;
    case 'fails':
      return { kind: 'received_unfiltered', reason: result.reason };
  }
}

/** Whether the endpoint receives the event at all. */
export function isReceived({ kind }: Reception): boolean {
  return kind === 'received' || kind === 'received_unfiltered';
}
