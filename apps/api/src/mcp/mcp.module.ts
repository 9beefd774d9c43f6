import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { DeliveriesModule } from '../deliveries/deliveries.module.js';
import { EventsModule } from '../events/events.module.js';
import { AgentFilters } from './agent-filters.js';
import { McpController } from './mcp.controller.js';
import { SIGNERS } from './mcp-keys.js';
import { PollEvents } from './poll-events.js';
import { Refusals } from './refusal.js';
import { StreamEvents } from './stream-events.js';
import { Subscriptions } from './subscription.js';
import { AgentTools } from './tools/agent-tools.js';
import { ExplainDeliveryTool } from './tools/explain-delivery.tool.js';
import { ListEndpointsTool } from './tools/list-endpoints.tool.js';
import { ListWaitingTool } from './tools/list-waiting.tool.js';
import { ReadEventsTool } from './tools/read-events.tool.js';
import { RecoverEndpointTool } from './tools/recover-endpoint.tool.js';
import { ReplayDeliveryTool } from './tools/replay-delivery.tool.js';
import { CallbackClients } from './webhooks/callback-clients.js';
import { CallbackVerifier } from './webhooks/callback-verifier.js';
import { EndMcpSubscriptionController } from './webhooks/end-mcp-subscription.controller.js';
import { ListMcpSubscriptionsController } from './webhooks/list-mcp-subscriptions.controller.js';
import { SubscribeWebhooks } from './webhooks/subscribe-webhooks.js';
import { SubscriptionUpkeep } from './webhooks/subscription-upkeep.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';

@Module({
  imports: [AuthModule, DeliveriesModule, EventsModule, WebhooksModule],
  controllers: [EndMcpSubscriptionController, ListMcpSubscriptionsController, McpController],
  providers: [
    ...SIGNERS,
    AgentFilters,
    AgentTools,
    CallbackClients,
    CallbackVerifier,
    ExplainDeliveryTool,
    ListEndpointsTool,
    ListWaitingTool,
    PollEvents,
    ReadEventsTool,
    RecoverEndpointTool,
    Refusals,
    ReplayDeliveryTool,
    StreamEvents,
    Subscriptions,
    SubscribeWebhooks,
    SubscriptionUpkeep,
  ],
})
export class McpModule {}
