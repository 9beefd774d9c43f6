import { Controller, Inject, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { ApiKeyId, OrgId } from '#libs/domain';
import type { AuditActor } from '#libs/postgres';
import { CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';
import { Actor } from '../audit/actor.decorator.js';
import { checkSessionScopes } from '../api-keys/grant.js';
import { keyOf } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { Callers } from '../http/callers.js';
import { JsonBody } from '../http/json-body.decorator.js';
import { Idempotent, Seed } from '../idempotency/idempotent.decorator.js';
import { ManagedOrg, ServiceKey } from '../orgs/service-key.decorator.js';
import { CreatePortalSessionDto, DEFAULT_SECONDS } from './portal-session.dto.js';
import { PortalSessions } from './portal-sessions.js';

/** `POST /internal/orgs/:orgId/portal-sessions`: makes a link that opens the portal once, for one org. */
@Controller('api/v1/internal/orgs/:orgId/portal-sessions')
export class CreatePortalSessionController {
  constructor(
    private readonly sessions: PortalSessions,
    private readonly callers: Callers,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Post()
  @Idempotent()
  @RequireScope('orgs:write')
  async create(
    @ServiceKey() serviceKeyId: ApiKeyId,
    @ManagedOrg() orgId: OrgId,
    @JsonBody(CreatePortalSessionDto) body: CreatePortalSessionDto,
    @Req() request: FastifyRequest,
    @Actor() actor: AuditActor,
    @Seed() seed: string | null,
  ) {
    checkSessionScopes(keyOf(request), body.scopes);
    const { token, session } = await this.sessions.create(
      serviceKeyId,
      {
        orgId,
        scopes: body.scopes,
        lifetimeMs: (body.expires_in ?? DEFAULT_SECONDS) * 1_000,
        userLabel: body.user_label ?? null,
        returnUrl: body.return_url ?? null,
      },
      actor,
      seed,
    );
    return {
      data: {
        id: session.id,
        org_id: orgId,
        // In the fragment, so that no server and no proxy logs it.
        url: `${this.#baseUrl(request)}/portal#${token}`,
        link_expires_at: session.linkExpiresAt.toISOString(),
        scopes: session.scopes,
        user_label: session.userLabel,
        return_url: session.returnUrl,
        expires_at: session.expiresAt.toISOString(),
      },
    };
  }

  /** Returns `PUBLIC_URL`, or the address that the backend used. */
  #baseUrl(request: FastifyRequest): string {
    const { publicUrl } = this.config;
    if (publicUrl !== null) return publicUrl.replace(/\/+$/, '');
    return `${this.callers.isSecure(request) ? 'https' : 'http'}://${request.host}`;
  }
}
