import type { DeliveryStatus, WhyNotDelivered } from '../delivery/index.js';

/** What became of an event on its way to an endpoint. */
export interface DeliveryCase {
  readonly eventType: string;
  /** The delivery; otherwise why there is none. */
  readonly outcome:
    { readonly status: DeliveryStatus; readonly attempts: number; readonly lastError: string | null } | WhyNotDelivered;
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
  | 'endpoint_was_deleted'
  | 'not_routed_yet';

export interface DeliveryExplanation {
  readonly reason: DeliveryReason;
  readonly text: string;
}

/** Explains an event's delivery to an endpoint. */
export function explainDelivery({ eventType, outcome }: DeliveryCase): DeliveryExplanation {
  if ('status' in outcome) return explainStatus(outcome);
  switch (outcome.answer) {
    case 'not_yet_created':
      return explain('endpoint_is_newer', 'The event is older than the endpoint.');
    case 'not_subscribed':
      return eventType === 'test'
        ? explain('test_of_another_endpoint', 'A test event goes only to the endpoint that was tested.')
        : explain('not_subscribed', `The endpoint did not subscribe to ${eventType}.`);
    case 'out_of_scope':
      return explain('out_of_widget_scope', 'The endpoint did not receive events of this widget.');
    case 'filtered':
      return explain('filtered', `The filter of the endpoint is false for the event: ${outcome.filter}`);
    case 'inactive':
      return explain(
        'endpoint_was_inactive',
        `The endpoint was inactive when the event came, since ${outcome.since.toISOString()}. Recover the endpoint.`,
      );
    case 'deleted':
      return explain('endpoint_was_deleted', 'The endpoint is deleted, and its deliveries with it.');
    case 'pending':
      return explain('not_routed_yet', 'No delivery is recorded yet.');
  }
}

function explainStatus({
  status,
  attempts,
  lastError,
}: Extract<DeliveryCase['outcome'], { status: unknown }>): DeliveryExplanation {
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
