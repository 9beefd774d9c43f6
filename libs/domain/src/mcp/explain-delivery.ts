import { inWidgetScope, type Subscriber } from '../delivery/index.js';
import type { DeliveryStatus } from '../delivery/index.js';
import type { WidgetId } from '../kernel/index.js';

/** The facts about an event and one endpoint. */
export interface DeliveryCase {
  readonly event: { readonly type: string; readonly widgetId: WidgetId | null; readonly appendedAtMs: number };
  readonly endpoint: Subscriber & { readonly createdAtMs: number };
  /** The delivery of the event to the endpoint; `undefined` if there is none. */
  readonly delivery:
    { readonly status: DeliveryStatus; readonly attempts: number; readonly lastError: string | null } | undefined;
  /** Whether the endpoint's filter leaves out the event. */
  readonly isFiltered: boolean;
  /** Whether the event came while the endpoint was inactive. */
  readonly wasInactive: boolean;
}

/** Why an event was, or was not, delivered to an endpoint. */
export type DeliveryReason =
  | 'delivered'
  | 'waits_for_attempt'
  | 'failed'
  | 'test_of_another_endpoint'
  | 'not_subscribed'
  | 'out_of_widget_scope'
  | 'filtered'
  | 'endpoint_is_newer'
  | 'endpoint_was_inactive'
  | 'not_routed_yet';

export interface DeliveryExplanation {
  readonly reason: DeliveryReason;
  readonly text: string;
}

/**
 * Explains an event's delivery to an endpoint. Without a delivery, it uses the endpoint's settings of now: those at the
 * time of the event are not kept.
 */
export function explainDelivery(known: DeliveryCase): DeliveryExplanation {
  const { event, endpoint, delivery, isFiltered, wasInactive } = known;
  if (delivery !== undefined) return explainStatus(delivery);
  if (event.type === 'test') {
    return explain('test_of_another_endpoint', 'A test event goes only to the endpoint that was tested.');
  }
  if (event.appendedAtMs < endpoint.createdAtMs) {
    return explain('endpoint_is_newer', 'The event is older than the endpoint.');
  }
  if (!endpoint.events.includes(event.type)) {
    return explain('not_subscribed', `The endpoint does not subscribe to ${event.type}.`);
  }
  if (!inWidgetScope(endpoint.widgetIds, event.widgetId)) {
    return explain('out_of_widget_scope', 'The endpoint does not receive events of this widget.');
  }
  if (isFiltered) return explain('filtered', 'The filter of the endpoint is false for the event.');
  if (wasInactive || !endpoint.isActive) {
    return explain('endpoint_was_inactive', 'The endpoint was inactive when the event came. Recover the endpoint.');
  }
  return explain(
    'not_routed_yet',
    'No delivery is recorded yet. If the event is older than a minute, the subscription may have been changed since.',
  );
}

function explainStatus({ status, attempts, lastError }: NonNullable<DeliveryCase['delivery']>): DeliveryExplanation {
  switch (status) {
    case 'delivered':
      return explain('delivered', `The endpoint accepted it. Attempts: ${attempts}.`);
    case 'pending':
      return explain('waits_for_attempt', `It waits for its next attempt. Attempts so far: ${attempts}.`);
    case 'failed':
      return explain('failed', `It failed with ${lastError ?? 'no error'}. Attempts: ${attempts}. Replay it.`);
  }
}

function explain(reason: DeliveryReason, text: string): DeliveryExplanation {
  return { reason, text };
}
