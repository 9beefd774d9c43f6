import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { deliveryIdOf, type Clock, type EndpointId, type EventId, type EventType, type OrgId } from '#libs/domain';
import { EndpointRecords, eventKey } from '#libs/postgres';
import { Appender, inboxRecord, type TopicNames } from '#libs/kafka-log';
import { CLOCK, TOPICS } from '#libs/platform';
import { appendOrRefuse } from '../deliveries/append-or-refuse.js';
import { deliveryJson, type DeliveryJson } from '../deliveries/delivery.presenter.js';
import { ProjectedDelivery } from '../deliveries/projected-delivery.js';
import { requestedDelivery } from '../deliveries/requested-delivery.js';
import { CheckedIds } from '../events/ids/checked-ids.js';
import { RequestTraces } from '../events/ingest/request-traces.js';
import { noSuchEndpoint } from './endpoint-id.pipe.js';
import { refuseInactive } from './refuse-inactive.js';

/** An event for one endpoint alone. */
interface TargetedEvent {
  readonly id: EventId;
  readonly event: EventType;
  readonly data: object;
}

/** Emits events that are in the feed like all others, and are pushed to one endpoint alone (contract 5.1). */
@Injectable()
export class TargetedEvents {
  constructor(
    private readonly endpoints: EndpointRecords,
    private readonly appender: Appender,
    private readonly projected: ProjectedDelivery,
    private readonly checkedIds: CheckedIds,
    private readonly traces: RequestTraces,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * @param mayBeKnown whether an earlier attempt at the request may have emitted the event; then it is not emitted again
   * @returns the delivery as the request set it
   * @throws GaplessError `not_found`, `endpoint_inactive` or `unavailable`
   */
  async send(
    request: FastifyRequest,
    orgId: OrgId,
    endpointId: EndpointId,
    { id, event, data }: TargetedEvent,
    mayBeKnown: boolean,
  ): Promise<DeliveryJson> {
    const endpoint = await this.endpoints.find(orgId, endpointId);
    if (endpoint === undefined) throw noSuchEndpoint();
    refuseInactive(endpoint);
    const checked = await this.checkedIds.check(mayBeKnown ? [{ orgId, id }] : []);
    const check = checked.get(eventKey(orgId, id));
    const now = new Date(this.clock.now()).toISOString();
    const submitted = { id, event, occurredAt: now, orgId, widgetId: null, dataJson: JSON.stringify(data) };
    if (check?.kind !== 'known') {
      await this.traces.trace('test', request, (traceparent) => {
        const checkedTo = check === undefined ? {} : { checkedTo: check.checkedTo };
        const context = { traceparent, targetEndpoint: endpointId, ...checkedTo };
        return appendOrRefuse(this.appender, [inboxRecord(this.topics.inbox, submitted, context)]);
      });
    }
    const delivery = await this.projected.of(orgId, endpointId, deliveryIdOf(id, endpointId), 0);
    if (delivery === undefined) return notYetProjected(id, event, endpointId, now);
    return deliveryJson(requestedDelivery(delivery, { type: 'scheduled', delivery }));
  }
}

/** Returns the delivery as it is before the sequencer has handled the event. */
function notYetProjected(eventId: EventId, event: EventType, endpointId: EndpointId, now: string): DeliveryJson {
  return {
    id: deliveryIdOf(eventId, endpointId),
    event,
    event_id: eventId,
    seq: null,
    status: 'pending',
    attempts: 0,
    response_status: null,
    last_error: null,
    next_attempt_at: now,
    delivered_at: null,
    created_at: now,
  };
}
