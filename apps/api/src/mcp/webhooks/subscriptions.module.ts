import { Module } from '@nestjs/common';
import { EventsModule } from '../../events/events.module.js';
import { WebhooksModule } from '../../webhooks/webhooks.module.js';
import { SIGNERS } from '../mcp-keys.js';
import { CallbackClients } from './callback-clients.js';
import { EndMcpSubscriptionController } from './end-mcp-subscription.controller.js';
import { ListMcpSubscriptionsController } from './list-mcp-subscriptions.controller.js';
import { SubscriptionUpkeep } from './subscription-upkeep.js';

/** The webhooks that agents have subscribed, which are kept up also while no agent asks. */
@Module({
  imports: [EventsModule, WebhooksModule],
  controllers: [EndMcpSubscriptionController, ListMcpSubscriptionsController],
  providers: [...SIGNERS, CallbackClients, SubscriptionUpkeep],
  exports: [...SIGNERS, CallbackClients],
})
export class SubscriptionsModule {}
