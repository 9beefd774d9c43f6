import { Controller, Get, Header, Inject, Param, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Clock, DeliveryId, EndpointId, OrgId } from '#libs/domain';
import { DeliveryLog, EndpointRecords, FeedReader } from '#libs/postgres';
import { kindOf } from '#libs/destinations';
import { CLOCK } from '#libs/platform';
import { keyOf, OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { EndpointIdPipe } from '../webhooks/endpoint-id.pipe.js';
import { DeliveryIdPipe, noSuchDelivery } from './delivery-id.pipe.js';
import { attemptJson, deliveryJson } from './delivery.presenter.js';

/** `GET /external/webhooks/:id/deliveries/:deliveryId`: a delivery with its attempts, its envelope and what was sent. */
@Controller('api/v1/external/webhooks/:id/deliveries/:deliveryId')
export class GetDeliveryController {
  constructor(
    private readonly log: DeliveryLog,
    private readonly endpoints: EndpointRecords,
    private readonly feed: FeedReader,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Inserts the stored envelope unchanged; null once retention has removed it. */
  @Get()
  @RequireScope('webhooks:read')
  @Header('content-type', 'application/json; charset=utf-8')
  async get(
    @Req() request: FastifyRequest,
    @OrgOfKey() orgId: OrgId,
    @Param('id', EndpointIdPipe) id: EndpointId,
    @Param('deliveryId', DeliveryIdPipe) deliveryId: DeliveryId,
  ): Promise<string> {
    const found = await this.log.findWhole(orgId, id, deliveryId);
    const target = await this.endpoints.pushTarget(orgId, id);
    if (found === undefined || target === undefined) throw noSuchDelivery();
    const event = await this.feed.find(orgId, found.delivery.seq, this.clock.now());
    const envelope = event?.envelope.toString() ?? null;
    const members = {
      ...deliveryJson(found.delivery),
      endpoint_id: id,
      attempts_log: found.attemptsLog.map(attemptJson),
      request: kindOf(target.url).sentRequest(
        { ...found, envelope },
        target,
        keyOf(request).scopes.includes('webhooks:write'),
      ),
    };
    return `{"data":${JSON.stringify(members).slice(0, -1)},"envelope":${envelope ?? 'null'}}}`;
  }
}
