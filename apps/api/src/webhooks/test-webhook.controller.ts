import { Controller, HttpCode, Inject, Param, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { deliveryIdOf, type Clock, type EndpointId, type EventId, type OrgId } from '#libs/domain';
import { EndpointRecords } from '#libs/postgres';
import { Appender, inboxRecord, type TopicNames } from '#libs/kafka-log';
import { CLOCK, TOPICS } from '#libs/platform';
import { Identifiers } from '#libs/runtime';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { appendOrRefuse } from '../deliveries/append-or-refuse.js';
import { deliveryJson, type DeliveryJson } from '../deliveries/delivery.presenter.js';
import { ProjectedDelivery } from '../deliveries/projected-delivery.js';
import { requestedDelivery } from '../deliveries/requested-delivery.js';
import { RequestTraces } from '../events/request-traces.js';
import { Idempotent } from '../idempotency/idempotent.decorator.js';
import { EndpointIdPipe, noSuchEndpoint } from './endpoint-id.pipe.js';
import { refuseInactive } from './refuse-inactive.js';

/** `POST /external/webhooks/:id/test`: emits a `test` event that is pushed to this endpoint alone (contract 5.1). */
@Controller('api/v1/external/webhooks/:id/test')
export class TestWebhookController {
  constructor(
    private readonly endpoints: EndpointRecords,
    private readonly appender: Appender,
    private readonly projected: ProjectedDelivery,
    private readonly identifiers: Identifiers,
    private readonly traces: RequestTraces,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Post()
  @Idempotent()
  @HttpCode(202)
  @RequireScope('webhooks:write')
  async test(
    @OrgOfKey() orgId: OrgId,
    @Param('id', EndpointIdPipe) id: EndpointId,
    @Req() request: FastifyRequest,
  ): Promise<{ readonly data: DeliveryJson }> {
    const endpoint = await this.endpoints.find(orgId, id);
    if (endpoint === undefined) throw noSuchEndpoint();
    refuseInactive(endpoint);
    const eventId = this.identifiers.eventId();
    const now = new Date(this.clock.now()).toISOString();
    const data = { message: 'This is a test delivery.', endpoint_id: id };
    const event = {
      id: eventId,
      event: 'test',
      occurredAt: now,
      orgId,
      widgetId: null,
      dataJson: JSON.stringify(data),
    };
    await this.traces.trace('test', request, (traceparent) =>
      appendOrRefuse(this.appender, [inboxRecord(this.topics.inbox, event, { traceparent, targetEndpoint: id })]),
    );
    const delivery = await this.projected.of(orgId, id, deliveryIdOf(eventId, id), 0);
    if (delivery === undefined) return { data: notYetProjected(eventId, id, now) };
    return { data: deliveryJson(requestedDelivery(delivery, { type: 'scheduled', delivery })) };
  }
}

/** Returns the delivery as it is before the sequencer has handled the event. */
function notYetProjected(eventId: EventId, endpointId: EndpointId, now: string): DeliveryJson {
  return {
    id: deliveryIdOf(eventId, endpointId),
    event: 'test',
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
