import { Controller, HttpCode, Inject, Param, Post } from '@nestjs/common';
import type { Clock, EndpointId, OrgId } from '#libs/domain';
import { EndpointRecords, type AuditActor } from '#libs/postgres';
import { CLOCK } from '#libs/platform';
import { Actor } from '../audit/actor.decorator.js';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { OptionalJsonBody } from '../http/json-body.decorator.js';
import { Idempotent, Seed } from '../idempotency/idempotent.decorator.js';
import { SeededSecrets } from '../idempotency/seeded-secrets.js';
import { CountsAsChange } from '../rate-limits/counts-as-change.js';
import { EndpointIdPipe, noSuchEndpoint } from './endpoint-id.pipe.js';
import { RotateSecretDto } from './rotate-secret.dto.js';
import { signingSecret } from './signing-secret.js';
import { overlapJson, webhookWithSecretJson } from './webhook.presenter.js';

/**
 * `POST /external/webhooks/:id/rotate-secret`: the next attempt is signed with the new secret (contract 5.1, 6.2).
 * Until the overlap ends, it is signed with the old one as well.
 */
@Controller('api/v1/external/webhooks/:id/rotate-secret')
export class RotateSecretController {
  constructor(
    private readonly endpoints: EndpointRecords,
    private readonly secrets: SeededSecrets,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Post()
  @CountsAsChange()
  @Idempotent()
  @HttpCode(200)
  @RequireScope('webhooks:write')
  async rotate(
    @OrgOfKey() orgId: OrgId,
    @Param('id', EndpointIdPipe) id: EndpointId,
    @OptionalJsonBody(RotateSecretDto) { overlap_seconds: overlapSeconds = 0, secret: given }: RotateSecretDto,
    @Actor() actor: AuditActor,
    @Seed() seed: string | null,
  ) {
    const secret = given ?? signingSecret(this.secrets.bytes(seed, 'signing secret'));
    const nowMs = this.clock.now();
    const overlapsUntil = overlapSeconds === 0 ? null : new Date(nowMs + overlapSeconds * 1_000);
    const endpoint = await this.endpoints
      .by(actor)
      .replaceSecret(orgId, id, secret, { at: new Date(nowMs), overlapsUntil, seed });
    if (endpoint === undefined) throw noSuchEndpoint();
    return { data: { ...webhookWithSecretJson(endpoint, secret), ...overlapJson(endpoint) } };
  }
}
