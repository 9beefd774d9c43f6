import { isExampleId } from '../events/index.js';
import type { Seq } from '../kernel/index.js';
import type { EventFilters } from './event-filter.js';
import { filteredReception, type Routable, type Subscriber } from './subscription.js';

/** A configuration that an endpoint had, as far as it decides about deliveries. */
export interface EndpointVersion extends Pick<Subscriber, 'events'> {
  /** Whether the event that is asked for was in its widget scope. */
  readonly isInScope: boolean;
  readonly filter: string | null;
  /** `null` if the endpoint was active. */
  readonly inactiveSince: Date | null;
}

/** An event whose receivers are asked for. */
export interface AskedEvent extends Pick<Routable, 'id' | 'event' | 'widgetId' | 'envelope'> {
  readonly seq: Seq;
  readonly appendedAt: Date;
}

/** Why an endpoint has no delivery of an event. */
export type WhyNotDelivered =
  | { readonly answer: 'not_yet_created' | 'not_subscribed' | 'out_of_scope' }
  | { readonly answer: 'filtered'; readonly filter: string }
  | { readonly answer: 'inactive'; readonly since: Date }
  /** The endpoint was deleted before the event, or later, together with the delivery. */
  | { readonly answer: 'deleted' }
  /** It will have one: the dispatcher has not come to the event yet. */
  | { readonly answer: 'pending' };

/**
 * Returns why an endpoint of that configuration gets no delivery of the event, in the order in which the dispatcher
 * decides; `undefined` if it gets one.
 */
export function whyNotDelivered(
  version: EndpointVersion,
  event: AskedEvent,
  filters: EventFilters,
): WhyNotDelivered | undefined {
  // A test event or an example is for one endpoint, which has a delivery of it.
  if (isExampleId(event.id) || !version.events.includes(event.event)) return { answer: 'not_subscribed' };
  if (!version.isInScope) return { answer: 'out_of_scope' };
  const { filter, inactiveSince } = version;
  if (filter !== null && filteredReception(filter, event.envelope, filters).kind === 'filtered') {
    return { answer: 'filtered', filter };
  }
  return inactiveSince === null ? undefined : { answer: 'inactive', since: inactiveSince };
}
