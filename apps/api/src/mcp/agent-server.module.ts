import { Module } from '@nestjs/common';
import { DeliveriesModule } from '../deliveries/deliveries.module.js';
import { EventsModule } from '../events/events.module.js';
import { RateLimitsModule } from '../rate-limits/rate-limits.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { AgentFilters } from './agent-filters.js';
import { AgentServer } from './agent-server.js';
import { PollEvents } from './poll-events.js';
import { Refusals } from './refusal.js';
import { SharedSelections } from './shared-selections.js';
import { StreamEvents } from './stream-events.js';
import { Subscriptions } from './subscription.js';
import { AgentTools } from './tools/agent-tools.js';
import { ExplainDeliveryTool } from './tools/explain-delivery.tool.js';
import { ListEndpointsTool } from './tools/list-endpoints.tool.js';
import { ListWaitingTool } from './tools/list-waiting.tool.js';
import { ReadEventsTool } from './tools/read-events.tool.js';
import { RecoverEndpointTool } from './tools/recover-endpoint.tool.js';
import { ReplayDeliveryTool } from './tools/replay-delivery.tool.js';
import { CallbackVerifier } from './webhooks/callback-verifier.js';
import { SubscribeWebhooks } from './webhooks/subscribe-webhooks.js';
import { SubscriptionsModule } from './webhooks/subscriptions.module.js';

export { AgentServer };

/** What answers agents. It is loaded with their first request, so nothing in it may have hooks of the process. */
@Module({
  imports: [DeliveriesModule, EventsModule, RateLimitsModule, SubscriptionsModule, WebhooksModule],
  providers: [
    AgentFilters,
    AgentServer,
    AgentTools,
    CallbackVerifier,
    ExplainDeliveryTool,
    ListEndpointsTool,
    ListWaitingTool,
    PollEvents,
    ReadEventsTool,
    RecoverEndpointTool,
    Refusals,
    ReplayDeliveryTool,
    SharedSelections,
    StreamEvents,
    SubscribeWebhooks,
    Subscriptions,
  ],
})
export class AgentServerModule {}
