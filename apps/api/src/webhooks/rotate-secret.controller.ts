import { Controller, HttpCode, Inject, Param, Post } from '@nestjs/common';
import type { Clock, EndpointId, OrgId } from '#libs/domain';
import { EndpointRecords } from '#libs/feed-store';
import { CLOCK } from '#libs/platform';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { Idempotent } from '../idempotency/idempotent.decorator.js';
import { EndpointIdPipe, noSuchEndpoint } from './endpoint-id.pipe.js';
import { newSigningSecret } from './signing-secret.js';
import { webhookWithSecretJson } from './webhook.presenter.js';

/** `POST /external/webhooks/:id/rotate-secret`: the very next attempt is signed with the new secret (contract 5.1, 6.2). */
@Controller('api/v1/external/webhooks/:id/rotate-secret')
export class RotateSecretController {
  constructor(
    private readonly endpoints: EndpointRecords,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Post()
  @Idempotent()
  @HttpCode(200)
  @RequireScope('webhooks:write')
  async rotate(@OrgOfKey() orgId: OrgId, @Param('id', EndpointIdPipe) id: EndpointId) {
    const secret = newSigningSecret();
    const endpoint = await this.endpoints.replaceSecret(orgId, id, secret, new Date(this.clock.now()));
    if (endpoint === undefined) throw noSuchEndpoint();
    return { data: webhookWithSecretJson(endpoint, secret) };
  }
}
