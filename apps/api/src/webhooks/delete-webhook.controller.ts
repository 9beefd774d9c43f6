import { Controller, Delete, HttpCode, Param } from '@nestjs/common';
import type { EndpointId, OrgId } from '#libs/domain';
import { EndpointRecords, type AuditActor } from '#libs/postgres';
import { Actor } from '../audit/actor.decorator.js';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { EndpointIdPipe, noSuchEndpoint } from './endpoint-id.pipe.js';

/** `DELETE /external/webhooks/:id`: deletes an endpoint and its delivery history (contract 5.1). */
@Controller('api/v1/external/webhooks/:id')
export class DeleteWebhookController {
  constructor(private readonly endpoints: EndpointRecords) {}

  @Delete()
  @HttpCode(204)
  @RequireScope('webhooks:write')
  async delete(
    @OrgOfKey() orgId: OrgId,
    @Param('id', EndpointIdPipe) id: EndpointId,
    @Actor() actor: AuditActor,
  ): Promise<void> {
    if (!(await this.endpoints.by(actor).delete(orgId, id))) throw noSuchEndpoint();
  }
}
