import { Controller, Get, Inject, Param } from '@nestjs/common';
import type { Clock, EndpointId, OrgId } from '#libs/domain';
import { EndpointHealthReader, EndpointRecords } from '#libs/postgres';
import { CLOCK } from '#libs/platform';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { EndpointIdPipe, noSuchEndpoint } from './endpoint-id.pipe.js';
import { webhookHealthJson, webhookJson } from './webhook.presenter.js';

/** `GET /external/webhooks/:id`: an endpoint with its delivery health (contract 5.1). */
@Controller('api/v1/external/webhooks/:id')
export class GetWebhookController {
  constructor(
    private readonly endpoints: EndpointRecords,
    private readonly health: EndpointHealthReader,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  @RequireScope('webhooks:read')
  async get(@OrgOfKey() orgId: OrgId, @Param('id', EndpointIdPipe) id: EndpointId) {
    const endpoint = await this.endpoints.find(orgId, id);
    if (endpoint === undefined) throw noSuchEndpoint();
    const nowMs = this.clock.now();
    const [health, recent] = await Promise.all([
      this.health.read(orgId, id, nowMs, endpoint.settings),
      this.health.recent(orgId, nowMs, [id]),
    ]);
    return {
      data: { ...webhookJson(endpoint), health: webhookHealthJson(endpoint, health, recent.get(id)) },
    };
  }
}
