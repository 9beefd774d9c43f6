import { Controller, Get } from '@nestjs/common';
import type { OrgId } from '#libs/domain';
import { OrgRecords } from '#libs/postgres';
import { RequireScope } from '../auth/require-scope.js';
import { orgJson } from './org.presenter.js';
import { ManagedOrg, noSuchOrg } from './service-key.decorator.js';

/** `GET /internal/orgs/:orgId`: the record of an org. */
@Controller('api/v1/internal/orgs/:orgId')
export class GetOrgController {
  constructor(private readonly orgs: OrgRecords) {}

  @Get()
  @RequireScope('orgs:write')
  async get(@ManagedOrg() orgId: OrgId) {
    const org = await this.orgs.find(orgId);
    if (org === undefined) throw noSuchOrg();
    return { data: orgJson(org) };
  }
}
