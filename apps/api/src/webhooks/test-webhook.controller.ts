import { Controller, HttpCode, Param, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { EndpointId, OrgId } from '#libs/domain';
import { Identifiers } from '#libs/runtime';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import type { DeliveryJson } from '../deliveries/delivery.presenter.js';
import { WithoutMembers } from '../http/without-members.decorator.js';
import { Idempotent, Seed } from '../idempotency/idempotent.decorator.js';
import { seededEventId } from '../idempotency/seeded-event-id.js';
import { EndpointIdPipe } from './endpoint-id.pipe.js';
import { TargetedEvents } from './targeted-events.js';

/** `POST /external/webhooks/:id/test`: emits a `test` event that is pushed to this endpoint alone (contract 5.1). */
@Controller('api/v1/external/webhooks/:id/test')
export class TestWebhookController {
  constructor(
    private readonly targeted: TargetedEvents,
    private readonly identifiers: Identifiers,
  ) {}

  @Post()
  @Idempotent()
  @WithoutMembers()
  @HttpCode(202)
  @RequireScope('webhooks:write')
  async test(
    @OrgOfKey() orgId: OrgId,
    @Param('id', EndpointIdPipe) id: EndpointId,
    @Req() request: FastifyRequest,
    @Seed() seed: string | null,
  ): Promise<{ readonly data: DeliveryJson }> {
    const data = { message: 'This is a test delivery.', endpoint_id: id };
    const event = { id: seededEventId(this.identifiers, seed), event: 'test', data } as const;
    return { data: await this.targeted.send(request, orgId, id, event, seed !== null) };
  }
}
