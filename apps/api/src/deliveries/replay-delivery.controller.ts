import { Controller, HttpCode, Param, Post } from '@nestjs/common';
import type { DeliveryId, EndpointId, OrgId } from '#libs/domain';
import type { AuditActor } from '#libs/postgres';
import { Actor } from '../audit/actor.decorator.js';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { WithoutMembers } from '../http/without-members.decorator.js';
import { EndpointIdPipe } from '../webhooks/endpoint-id.pipe.js';
import { Idempotent, Seed } from '../idempotency/idempotent.decorator.js';
import { DeliveryIdPipe } from './delivery-id.pipe.js';
import { deliveryJson } from './delivery.presenter.js';
import { Replays } from './replays.js';

/** `POST /external/webhooks/:id/deliveries/:deliveryId/replay`: re-sends a stored delivery (contract 4.1, 5.1). */
@Controller('api/v1/external/webhooks/:id/deliveries/:deliveryId/replay')
export class ReplayDeliveryController {
  constructor(private readonly replays: Replays) {}

  @Post()
  @Idempotent()
  @WithoutMembers()
  @HttpCode(202)
  @RequireScope('webhooks:write')
  async replay(
    @OrgOfKey() orgId: OrgId,
    @Param('id', EndpointIdPipe) id: EndpointId,
    @Param('deliveryId', DeliveryIdPipe) deliveryId: DeliveryId,
    @Actor() actor: AuditActor,
    @Seed() seed: string | null,
  ) {
    return { data: deliveryJson(await this.replays.replay(orgId, id, deliveryId, actor, seed)) };
  }
}
