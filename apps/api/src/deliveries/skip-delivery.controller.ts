import { Controller, HttpCode, Param, Post } from '@nestjs/common';
import type { DeliveryId, EndpointId, OrgId } from '#libs/domain';
import type { AuditActor } from '#libs/postgres';
import { Actor } from '../audit/actor.decorator.js';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { WithoutMembers } from '../http/without-members.decorator.js';
import { Idempotent } from '../idempotency/idempotent.decorator.js';
import { EndpointIdPipe } from '../webhooks/endpoint-id.pipe.js';
import { DeliveryIdPipe } from './delivery-id.pipe.js';
import { deliveryJson } from './delivery.presenter.js';
import { Skips } from './skips.js';

/** `POST /external/webhooks/:id/deliveries/:deliveryId/skip`: ends a pending delivery (contract 4.6, 5.1). */
@Controller('api/v1/external/webhooks/:id/deliveries/:deliveryId/skip')
export class SkipDeliveryController {
  constructor(private readonly skips: Skips) {}

  @Post()
  @Idempotent()
  @WithoutMembers()
  @HttpCode(202)
  @RequireScope('webhooks:write')
  async skip(
    @OrgOfKey() orgId: OrgId,
    @Param('id', EndpointIdPipe) id: EndpointId,
    @Param('deliveryId', DeliveryIdPipe) deliveryId: DeliveryId,
    @Actor() actor: AuditActor,
  ) {
    return { data: deliveryJson(await this.skips.skip(orgId, id, deliveryId, actor)) };
  }
}
