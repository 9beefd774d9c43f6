import type { EndpointId, WidgetId } from '../kernel/index.js';
import { inWidgetScope, type WidgetScope } from './widget-scope.js';

/** The settings of an endpoint that select its events (contract 3.1, 7.3). */
export interface Subscriber {
  readonly id: EndpointId;
  readonly isActive: boolean;
  readonly events: readonly string[];
  readonly widgetIds: WidgetScope;
  /** Whether a list of widgets leaves out events without a widget, too. */
  readonly isExact?: boolean;
}

/** The members of an event that decide which endpoints receive it. */
export interface Routable {
  readonly event: string;
  readonly widgetId: WidgetId | null;
  /** The endpoint of a test event, which gets it whatever its subscription is (contract 4.5); otherwise null. */
  readonly targetEndpoint: EndpointId | null;
}

/**
 * Whether the event is pushed to the endpoint. The endpoint must be active, and either subscribed and in scope or the
 * target of a test.
 */
export function receives(endpoint: Subscriber, event: Routable): boolean {
  if (!endpoint.isActive) return false;
  if (event.targetEndpoint !== null) return event.targetEndpoint === endpoint.id;
  if (endpoint.isExact === true && endpoint.widgetIds !== null && event.widgetId === null) return false;
  return endpoint.events.includes(event.event) && inWidgetScope(endpoint.widgetIds, event.widgetId);
}
