import { Controller, HttpCode, Param, Post } from '@nestjs/common';
import { derivedRecoveryId, type EndpointId, type OrgId } from '#libs/domain';
import type { AuditActor } from '#libs/postgres';
import { Actor } from '../audit/actor.decorator.js';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { JsonBody } from '../http/json-body.decorator.js';
import { EndpointIdPipe } from '../webhooks/endpoint-id.pipe.js';
import { Idempotent, Seed } from '../idempotency/idempotent.decorator.js';
import { RecoverDeliveriesDto } from './recover-deliveries.dto.js';
import { Recoveries, type Recovered } from './recoveries.js';

/** `POST /external/webhooks/:id/recover`: re-sends failed and missed events, in seq order (contract 4.4). */
@Controller('api/v1/external/webhooks/:id/recover')
export class RecoverDeliveriesController {
  constructor(private readonly recoveries: Recoveries) {}

  @Post()
  @Idempotent()
  @HttpCode(202)
  @RequireScope('webhooks:write')
  async recover(
    @OrgOfKey() orgId: OrgId,
    @Param('id', EndpointIdPipe) id: EndpointId,
    @JsonBody(RecoverDeliveriesDto) body: RecoverDeliveriesDto,
    @Actor() actor: AuditActor,
    @Seed() seed: string | null,
  ): Promise<{ readonly data: Recovered }> {
    const once = seed === null ? undefined : ({ id: derivedRecoveryId(seed), ifBegun: 'answer' } as const);
    return { data: await this.recoveries.recover(orgId, id, body, actor, once) };
  }
}
