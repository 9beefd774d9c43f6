import { Controller, Get } from '@nestjs/common';
import type { OrgId } from '#libs/domain';
import { OrgRecords } from '#libs/postgres';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { AnyKey } from '../auth/require-scope.js';
import { widgetsJson } from '../orgs/org.presenter.js';

/** `GET /dashboard/organization`: the names of the caller's org and its widgets, if the product has set them. */
@Controller('api/v1/dashboard/organization')
export class ReadOrganizationController {
  constructor(private readonly orgs: OrgRecords) {}

  @Get()
  @AnyKey()
  async read(@OrgOfKey() orgId: OrgId) {
    const org = await this.orgs.find(orgId);
    return { data: { org_id: orgId, name: org?.name ?? null, widgets: widgetsJson(org?.widgets ?? []) } };
  }
}
