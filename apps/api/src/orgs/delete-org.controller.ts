import { Controller, Delete, HttpCode } from '@nestjs/common';
import type { OrgId } from '#libs/domain';
import { OrgRecords, type AuditActor } from '#libs/postgres';
import { Actor } from '../audit/actor.decorator.js';
import { RequireScope } from '../auth/require-scope.js';
import { ManagedOrg, noSuchOrg } from './service-key.decorator.js';

/** `DELETE /internal/orgs/:orgId`: ends an org's endpoints and keys at once. Its events leave with retention. */
@Controller('api/v1/internal/orgs/:orgId')
export class DeleteOrgController {
  constructor(private readonly orgs: OrgRecords) {}

  @Delete()
  @HttpCode(204)
  @RequireScope('orgs:write')
  async delete(@ManagedOrg() orgId: OrgId, @Actor() actor: AuditActor): Promise<void> {
    if (!(await this.orgs.by(actor).delete(orgId))) throw noSuchOrg();
  }
}
