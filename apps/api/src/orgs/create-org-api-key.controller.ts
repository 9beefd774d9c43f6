import { Controller, Post } from '@nestjs/common';
import type { OrgId } from '#libs/domain';
import type { AuditActor } from '#libs/postgres';
import { CreateApiKeyDto } from '../api-keys/api-key.dto.js';
import { NewApiKeys } from '../api-keys/new-api-keys.js';
import { Actor } from '../audit/actor.decorator.js';
import { RequireScope } from '../auth/require-scope.js';
import { JsonBody } from '../http/json-body.decorator.js';
import { Idempotent, Seed } from '../idempotency/idempotent.decorator.js';
import { ManagedOrg } from './service-key.decorator.js';

/**
 * `POST /internal/orgs/:orgId/api-keys`: creates a key of an org. It may have any scope that an org's key may hold, and
 * outlive the service key, which is replaced more often than customers' keys.
 */
@Controller('api/v1/internal/orgs/:orgId/api-keys')
export class CreateOrgApiKeyController {
  constructor(private readonly keys: NewApiKeys) {}

  @Post()
  @Idempotent()
  @RequireScope('keys:write')
  async create(
    @ManagedOrg() orgId: OrgId,
    @JsonBody(CreateApiKeyDto) body: CreateApiKeyDto,
    @Actor() actor: AuditActor,
    @Seed() seed: string | null,
  ) {
    return { data: await this.keys.create(orgId, body, actor, null, seed) };
  }
}
