import { Controller, Get } from '@nestjs/common';
import type { OrgId } from '#libs/domain';
import { ApiKeyRecords } from '#libs/postgres';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { apiKeyJson } from './api-key.presenter.js';

/** The most keys that are listed, because revoked keys are kept. */
export const LISTED_KEYS = 1_000;

/**
 * `GET /external/api-keys`: lists the keys of the caller's org, including revoked ones, oldest first (contract 2.3).
 */
@Controller('api/v1/external/api-keys')
export class ListApiKeysController {
  constructor(private readonly keys: ApiKeyRecords) {}

  @Get()
  @RequireScope('keys:write')
  async list(@OrgOfKey() orgId: OrgId) {
    const keys = await this.keys.list(orgId, LISTED_KEYS);
    return { data: keys.map(apiKeyJson) };
  }
}
