import { Controller, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { OrgId } from '#libs/domain';
import type { AuditActor } from '#libs/postgres';
import { Actor } from '../audit/actor.decorator.js';
import { keyOf, OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { Idempotent, Seed } from '../idempotency/idempotent.decorator.js';
import { JsonBody } from '../http/json-body.decorator.js';
import { CountsAsChange } from '../rate-limits/counts-as-change.js';
import { CreateApiKeyDto } from './api-key.dto.js';
import { NewApiKeys } from './new-api-keys.js';

/** `POST /external/api-keys`: creates a key of the caller's org, and shows it in this response only (contract 2.3). */
@Controller('api/v1/external/api-keys')
export class CreateApiKeyController {
  constructor(private readonly keys: NewApiKeys) {}

  @Post()
  @CountsAsChange()
  @Idempotent()
  @RequireScope('keys:write')
  async create(
    @OrgOfKey() orgId: OrgId,
    @JsonBody(CreateApiKeyDto) body: CreateApiKeyDto,
    @Req() request: FastifyRequest,
    @Actor() actor: AuditActor,
    @Seed() seed: string | null,
  ) {
    return { data: await this.keys.create(orgId, body, actor, keyOf(request), seed) };
  }
}
