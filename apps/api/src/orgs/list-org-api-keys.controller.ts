import { Controller, Get } from '@nestjs/common';
import type { OrgId } from '#libs/domain';
import { ApiKeyRecords } from '#libs/postgres';
import { apiKeyJson } from '../api-keys/api-key.presenter.js';
import { LISTED_KEYS } from '../api-keys/list-api-keys.controller.js';
import { RequireScope } from '../auth/require-scope.js';
import { ManagedOrg } from './service-key.decorator.js';

/** `GET /internal/orgs/:orgId/api-keys`: lists the keys of an org, including revoked ones, oldest first. */
@Controller('api/v1/internal/orgs/:orgId/api-keys')
export class ListOrgApiKeysController {
  constructor(private readonly keys: ApiKeyRecords) {}

  @Get()
  @RequireScope('keys:write')
  async list(@ManagedOrg() orgId: OrgId) {
    const keys = await this.keys.list(orgId, LISTED_KEYS);
    return { data: keys.map(apiKeyJson) };
  }
}
