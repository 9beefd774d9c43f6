import { Controller, HttpCode, Param, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { catalogEntry, exampleEventId, type EndpointId, type OrgId } from '#libs/domain';
import { Identifiers } from '#libs/runtime';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import type { DeliveryJson } from '../deliveries/delivery.presenter.js';
import { JsonBody } from '../http/json-body.decorator.js';
import { Idempotent, Seed } from '../idempotency/idempotent.decorator.js';
import { seededEventId } from '../idempotency/seeded-event-id.js';
import { EndpointIdPipe } from './endpoint-id.pipe.js';
import { SendExampleDto } from './send-example.dto.js';
import { TargetedEvents } from './targeted-events.js';

/**
 * `POST /external/webhooks/:id/send-example`: emits the catalog's example of a type, pushed to this endpoint alone
 * (contract 5.1). Its id marks it as an example.
 */
@Controller('api/v1/external/webhooks/:id/send-example')
export class SendExampleController {
  constructor(
    private readonly targeted: TargetedEvents,
    private readonly identifiers: Identifiers,
  ) {}

  @Post()
  @Idempotent()
  @HttpCode(202)
  @RequireScope('webhooks:write')
  async send(
    @OrgOfKey() orgId: OrgId,
    @Param('id', EndpointIdPipe) endpointId: EndpointId,
    @JsonBody(SendExampleDto) { event }: SendExampleDto,
    @Req() request: FastifyRequest,
    @Seed() seed: string | null,
  ): Promise<{ readonly data: DeliveryJson }> {
    const id = exampleEventId(seededEventId(this.identifiers, seed));
    const { example } = catalogEntry(event);
    const emitted = { id, event, data: example };
    return { data: await this.targeted.send(request, orgId, endpointId, emitted, seed !== null) };
  }
}
