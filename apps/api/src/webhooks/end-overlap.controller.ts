import { Controller, Delete, HttpCode, Inject, Param } from '@nestjs/common';
import type { Clock, EndpointId, OrgId } from '#libs/domain';
import { EndpointRecords, type AuditActor } from '#libs/postgres';
import { CLOCK } from '#libs/platform';
import { Actor } from '../audit/actor.decorator.js';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { EndpointIdPipe, noSuchEndpoint } from './endpoint-id.pipe.js';

/** `DELETE /external/webhooks/:id/previous-secret`: ends the overlap of a rotation. Without one, it does nothing. */
@Controller('api/v1/external/webhooks/:id/previous-secret')
export class EndOverlapController {
  constructor(
    private readonly endpoints: EndpointRecords,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Delete()
  @HttpCode(204)
  @RequireScope('webhooks:write')
  async end(
    @OrgOfKey() orgId: OrgId,
    @Param('id', EndpointIdPipe) id: EndpointId,
    @Actor() actor: AuditActor,
  ): Promise<void> {
    if (!(await this.endpoints.by(actor).endOverlap(orgId, id, new Date(this.clock.now())))) throw noSuchEndpoint();
  }
}
