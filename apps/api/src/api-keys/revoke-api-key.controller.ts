import { Controller, Delete, HttpCode, Inject, Param } from '@nestjs/common';
import type { ApiKeyId, Clock, OrgId } from '#libs/domain';
import { ApiKeyRecords, type AuditActor } from '#libs/postgres';
import { CLOCK } from '#libs/platform';
import { Actor } from '../audit/actor.decorator.js';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { ApiKeyIdPipe, noSuchApiKey } from './api-key-id.pipe.js';

/** `DELETE /external/api-keys/:id`: revokes a key of the caller's org. The next request with it is refused. */
@Controller('api/v1/external/api-keys/:id')
export class RevokeApiKeyController {
  constructor(
    private readonly keys: ApiKeyRecords,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Delete()
  @HttpCode(204)
  @RequireScope('keys:write')
  async revoke(
    @OrgOfKey() orgId: OrgId,
    @Param('id', ApiKeyIdPipe) id: ApiKeyId,
    @Actor() actor: AuditActor,
  ): Promise<void> {
    if (!(await this.keys.by(actor).revoke(id, new Date(this.clock.now()), orgId))) throw noSuchApiKey();
  }
}
