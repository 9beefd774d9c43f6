import { Controller, Get } from '@nestjs/common';
import type { OrgId } from '#libs/domain';
import { EndpointRecords } from '#libs/postgres';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { webhookJson } from './webhook.presenter.js';

/** `GET /external/webhooks`: all endpoints of the org, oldest first (contract 5.1). */
@Controller('api/v1/external/webhooks')
export class ListWebhooksController {
  constructor(private readonly endpoints: EndpointRecords) {}

  @Get()
  @RequireScope('webhooks:read')
  async list(@OrgOfKey() orgId: OrgId) {
    const endpoints = await this.endpoints.list(orgId);
    return { data: endpoints.map(webhookJson) };
  }
}
