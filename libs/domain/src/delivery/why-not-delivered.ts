import { isExampleId } from '../events/index.js';
import type { EventId, Seq } from '../kernel/index.js';
import type { EventFilters } from './event-filter.js';
import { filteredReception, type Routable, type Subscriber } from './subscription.js';
import { inWidgetScope } from './widget-scope.js';

/** A period in which an endpoint was inactive, as its history is stored. */
export interface StoredInactivity {
  readonly beganAt: Date;
  /** `null` if it began before seqs were written down. */
  readonly beganAfterSeq: Seq | null;
  /** `null` while it lasts. */
  readonly endedAt: Date | null;
  readonly endedAfterSeq: Seq | null;
}

/** The stored history of an endpoint. Only the present events, widgets and filter are known. */
export interface EndpointHistory extends Subscriber {
  readonly createdAt: Date;
  /** The seq of the latest event in the feed at that time. */
  readonly receivesAfterSeq: Seq;
  /** When the events, widgets or filter last changed; `null` if never, or before that was written down. */
  readonly subscriptionChangedAt: Date | null;
  readonly inactivity: readonly StoredInactivity[];
}

/** An event whose receivers are asked for. */
export interface AskedEvent extends Pick<Routable, 'event' | 'widgetId' | 'envelope'> {
  readonly id: EventId;
  readonly seq: Seq;
  readonly appendedAt: Date;
}

/** Why an endpoint has no delivery of an event. */
export type WhyNotDelivered =
  | { readonly answer: 'not_yet_created' | 'not_subscribed' | 'out_of_scope' | 'filtered' }
  | { readonly answer: 'inactive'; readonly since: Date }
  /** It will have one: the dispatcher has not come to the event yet. */
  | { readonly answer: 'pending' };

function wasInactive(period: StoredInactivity, { seq, appendedAt }: AskedEvent): boolean {
  const isAfterBegin = appendedAt >= period.beganAt || (period.beganAfterSeq !== null && seq > period.beganAfterSeq);
  if (!isAfterBegin || period.endedAt === null) return isAfterBegin;
  return appendedAt < period.endedAt || (period.endedAfterSeq !== null && seq <= period.endedAfterSeq);
}

/**
 * Returns why the endpoint has no delivery of the event, in the order in which the dispatcher decides. It goes by the
 * present subscription: of an earlier one, only the time of its end is known.
 */
export function whyNotDelivered(endpoint: EndpointHistory, event: AskedEvent, filters: EventFilters): WhyNotDelivered {
  if (event.seq <= endpoint.receivesAfterSeq || event.appendedAt < endpoint.createdAt) {
    return { answer: 'not_yet_created' };
  }
  // A test event or an example is for one endpoint, which has a delivery of it.
  if (isExampleId(event.id) || !endpoint.events.includes(event.event)) return { answer: 'not_subscribed' };
  if (!inWidgetScope(endpoint.widgetIds, event.widgetId)) return { answer: 'out_of_scope' };
  if (filteredReception(endpoint.filter ?? null, event.envelope, filters).kind === 'filtered') {
    return { answer: 'filtered' };
  }
  const period = endpoint.inactivity.find((one) => wasInactive(one, event));
  if (period !== undefined) return { answer: 'inactive', since: period.beganAt };
  const { subscriptionChangedAt } = endpoint;
  const isOlder = subscriptionChangedAt !== null && event.appendedAt < subscriptionChangedAt;
  return { answer: isOlder ? 'not_subscribed' : 'pending' };
}
