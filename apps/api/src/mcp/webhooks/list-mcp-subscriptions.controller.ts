import { Controller, Get } from '@nestjs/common';
import type { OrgId } from '#libs/domain';
import { McpSubscriptions } from '#libs/postgres';
import { OrgOfKey } from '../../auth/authenticated-key.js';
import { RequireScope } from '../../auth/require-scope.js';
import { SharedReads } from '../../events/shared-reads.js';
import { mcpSubscriptionJson } from './mcp-subscription.presenter.js';

/** `GET /external/mcp-subscriptions`: which agents receive events by webhook, and how far behind they are. */
@Controller('api/v1/external/mcp-subscriptions')
export class ListMcpSubscriptionsController {
  constructor(
    private readonly subscriptions: McpSubscriptions,
    private readonly reads: SharedReads,
  ) {}

  @Get()
  @RequireScope('webhooks:read')
  async list(@OrgOfKey() orgId: OrgId) {
    const [subscriptions, bounds] = await Promise.all([this.subscriptions.list(orgId), this.reads.bounds(orgId)]);
    return { data: subscriptions.map((subscription) => mcpSubscriptionJson(subscription, bounds)) };
  }
}
