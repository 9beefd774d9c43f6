import { Module } from '@nestjs/common';
import { IdempotencyModule } from '../idempotency/idempotency.module.js';
import { DeliveriesModule } from '../deliveries/deliveries.module.js';
import { EventsModule } from '../events/events.module.js';
import { RateLimitsModule } from '../rate-limits/rate-limits.module.js';
import { CreateWebhookController } from './create-webhook.controller.js';
import { DeleteWebhookController } from './delete-webhook.controller.js';
import { EndOverlapController } from './end-overlap.controller.js';
import { EndpointUrlCheck } from './endpoint-url-check.js';
import { GetWebhookController } from './get-webhook.controller.js';
import { ListWebhooksController } from './list-webhooks.controller.js';
import { LogMoments } from './log-moments.js';
import { PreviousSecretPruner } from './previous-secret-pruner.js';
import { RotateSecretController } from './rotate-secret.controller.js';
import { SendExampleController } from './send-example.controller.js';
import { TargetedEvents } from './targeted-events.js';
import { TestFilterController } from './test-filter.controller.js';
import { TestWebhookController } from './test-webhook.controller.js';
import { UpdateWebhookController } from './update-webhook.controller.js';

@Module({
  imports: [IdempotencyModule, DeliveriesModule, EventsModule, RateLimitsModule],
  controllers: [
    CreateWebhookController,
    ListWebhooksController,
    TestFilterController,
    GetWebhookController,
    UpdateWebhookController,
    DeleteWebhookController,
    RotateSecretController,
    EndOverlapController,
    TestWebhookController,
    SendExampleController,
  ],
  providers: [TargetedEvents, EndpointUrlCheck, LogMoments, PreviousSecretPruner],
  exports: [EndpointUrlCheck, LogMoments],
})
export class WebhooksModule {}
