import { randomBytes } from 'node:crypto';
import { Controller, Inject, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { GaplessError, type Clock, type OrgId } from '#libs/domain';
import { parseTimestamp } from '#libs/event-validation';
import { API_KEY_SECRET_BYTES, ApiKeyRecords, type AuditActor } from '#libs/postgres';
import { CLOCK, CONFIG } from '#libs/platform';
import { Identifiers, type Config } from '#libs/runtime';
import { Actor } from '../audit/actor.decorator.js';
import { keyOf, OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { Idempotent } from '../idempotency/idempotent.decorator.js';
import { JsonBody } from '../http/json-body.decorator.js';
import { CreateApiKeyDto } from './api-key.dto.js';
import { apiKeyJson } from './api-key.presenter.js';
import { decideGrant } from './grant.js';

/** `POST /external/api-keys`: creates a key of the caller's org, and shows it in this response only (contract 2.3). */
@Controller('api/v1/external/api-keys')
export class CreateApiKeyController {
  constructor(
    private readonly keys: ApiKeyRecords,
    private readonly identifiers: Identifiers,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Post()
  @Idempotent()
  @RequireScope('keys:write')
  async create(
    @OrgOfKey() orgId: OrgId,
    @JsonBody(CreateApiKeyDto) body: CreateApiKeyDto,
    @Req() request: FastifyRequest,
    @Actor() actor: AuditActor,
  ) {
    const nowMs = this.clock.now();
    const expiresAtMs = parseTimestamp(body.expires_at ?? '');
    const wanted = { scopes: body.scopes, expiresAt: expiresAtMs === undefined ? null : new Date(expiresAtMs) };
    const grant = decideGrant(keyOf(request), wanted, nowMs);
    const record = { id: this.identifiers.apiKeyId(), orgId, ...grant, createdAt: new Date(nowMs) };
    const limit = this.config.maxApiKeysPerOrg;
    const key = await this.keys.by(actor).create({ ...record, secret: randomBytes(API_KEY_SECRET_BYTES) }, limit);
    if (key === null) {
      throw new GaplessError('api_key_limit_reached', `The organization has ${limit} valid keys already. Revoke one.`);
    }
    return { data: { ...apiKeyJson({ ...record, revokedAt: null, lastUsedAt: null }), key } };
  }
}
