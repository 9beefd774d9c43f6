import { createHash } from 'node:crypto';
import { Controller, Get, Header, Inject, Param, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Clock, OrgId } from '#libs/domain';
import { DeliveryLog, FeedReader, type EventDelivery } from '#libs/postgres';
import { CLOCK } from '#libs/platform';
import { keyOf, OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { shownTime } from '../deliveries/delivery.presenter.js';
import { noSuchEvent } from '../events/event-id.pipe.js';
import { EventNamePipe, type EventName } from './event-name.pipe.js';

function eventDeliveryJson(delivery: EventDelivery) {
  return {
    id: delivery.deliveryId,
    endpoint_id: delivery.endpointId,
    endpoint_name: delivery.endpointName,
    url: delivery.url,
    status: delivery.status,
    attempts: delivery.attempts,
    response_status: delivery.responseStatus,
    last_error: delivery.lastError,
    delivered_at: shownTime(delivery.deliveredAtMs),
  };
}

/** `GET /dashboard/events/:seq`: the exact bytes of an event, and its deliveries. */
@Controller('api/v1/dashboard/events/:seq')
export class ReadEventController {
  constructor(
    private readonly feed: FeedReader,
    private readonly deliveries: DeliveryLog,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Copies the stored envelope unchanged. A key that may only read events gets no endpoints. */
  @Get()
  @RequireScope('events:read')
  @Header('content-type', 'application/json; charset=utf-8')
  async read(
    @OrgOfKey() orgId: OrgId,
    @Param('seq', EventNamePipe) name: EventName,
    @Req() request: FastifyRequest,
  ): Promise<string> {
    const nowMs = this.clock.now();
    const event = await ('seq' in name
      ? this.feed.find(orgId, name.seq, nowMs)
      : this.feed.findById(orgId, name.id, nowMs));
    if (event === undefined) throw noSuchEvent();
    const deliveries = keyOf(request).scopes.includes('webhooks:read')
      ? await this.deliveries.ofEvent(orgId, event.id, event.appendedAt)
      : null;
    const raw = event.envelope.toString();
    const members = {
      raw,
      sha256: createHash('sha256').update(event.envelope).digest('hex'),
      appended_at: event.appendedAt.toISOString(),
      deliveries: deliveries?.map(eventDeliveryJson) ?? null,
    };
    return `{"data":{"envelope":${raw},${JSON.stringify(members).slice(1)}}`;
  }
}
