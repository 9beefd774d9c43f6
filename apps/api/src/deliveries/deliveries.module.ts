import { Module } from '@nestjs/common';
import { IdempotencyModule } from '../idempotency/idempotency.module.js';
import { GetDeliveryController } from './get-delivery.controller.js';
import { ListDeliveriesController } from './list-deliveries.controller.js';
import { ListUndeliveredController } from './list-undelivered.controller.js';
import { ProjectedDelivery } from './projected-delivery.js';
import { ProjectedFacts } from './projected-facts.js';
import { RecoverDeliveriesController } from './recover-deliveries.controller.js';
import { RecoveriesController } from './recoveries.controller.js';
import { Recoveries } from './recoveries.js';
import { ReplayDeliveryController } from './replay-delivery.controller.js';
import { Replays } from './replays.js';
import { RoutingProgress } from './routing-progress.js';
import { SkipDeliveryController } from './skip-delivery.controller.js';
import { Skips } from './skips.js';

@Module({
  imports: [IdempotencyModule],
  controllers: [
    ListDeliveriesController,
    ListUndeliveredController,
    GetDeliveryController,
    ReplayDeliveryController,
    SkipDeliveryController,
    RecoverDeliveriesController,
    RecoveriesController,
  ],
  providers: [ProjectedDelivery, ProjectedFacts, Recoveries, Replays, RoutingProgress, Skips],
  exports: [ProjectedDelivery, Recoveries, Replays],
})
export class DeliveriesModule {}
