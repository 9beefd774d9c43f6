import { Controller, Delete, HttpCode, Inject, Param } from '@nestjs/common';
import type { ApiKeyId, Clock, OrgId } from '#libs/domain';
import { ApiKeyRecords, type AuditActor } from '#libs/postgres';
import { CLOCK } from '#libs/platform';
import { ApiKeyIdPipe, noSuchApiKey } from '../api-keys/api-key-id.pipe.js';
import { Actor } from '../audit/actor.decorator.js';
import { RequireScope } from '../auth/require-scope.js';
import { ManagedOrg } from './service-key.decorator.js';

/** `DELETE /internal/orgs/:orgId/api-keys/:id`: revokes a key of an org. The next request with it is refused. */
@Controller('api/v1/internal/orgs/:orgId/api-keys/:id')
export class RevokeOrgApiKeyController {
  constructor(
    private readonly keys: ApiKeyRecords,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Delete()
  @HttpCode(204)
  @RequireScope('keys:write')
  async revoke(
    @ManagedOrg() orgId: OrgId,
    @Param('id', ApiKeyIdPipe) id: ApiKeyId,
    @Actor() actor: AuditActor,
  ): Promise<void> {
    if (!(await this.keys.by(actor).revoke(id, new Date(this.clock.now()), orgId))) throw noSuchApiKey();
  }
}
