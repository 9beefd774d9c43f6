import { Controller, Delete, HttpCode, Inject, Param } from '@nestjs/common';
import { GaplessError, isSubscriptionId, mcpError, type Clock, type OrgId } from '#libs/domain';
import { CLOCK } from '#libs/platform';
import { McpSubscriptions, type AuditActor } from '#libs/postgres';
import { Actor } from '../../audit/actor.decorator.js';
import { OrgOfKey } from '../../auth/authenticated-key.js';
import { RequireScope } from '../../auth/require-scope.js';

const ENDED = mcpError('Forbidden', 'The organization has ended the subscription.', { reason: 'Ended by operator' });

/** `DELETE /external/mcp-subscriptions/:id`: stops deliveries at once, and then sends `terminated`. */
@Controller('api/v1/external/mcp-subscriptions/:id')
export class EndMcpSubscriptionController {
  constructor(
    private readonly subscriptions: McpSubscriptions,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Delete()
  @HttpCode(204)
  @RequireScope('webhooks:write')
  async end(@OrgOfKey() orgId: OrgId, @Param('id') id: string, @Actor() actor: AuditActor): Promise<void> {
    const at = new Date(this.clock.now());
    if (isSubscriptionId(id) && (await this.subscriptions.by(actor).end(orgId, id, ENDED, at))) return;
    throw new GaplessError('not_found', 'There is no such subscription.');
  }
}
