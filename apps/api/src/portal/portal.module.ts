import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { DashboardModule } from '../dashboard/dashboard.module.js';
import { IdempotencyModule } from '../idempotency/idempotency.module.js';
import { RateLimitsModule } from '../rate-limits/rate-limits.module.js';
import { CreatePortalSessionController } from './create-portal-session.controller.js';
import { OpenPortalSessionController } from './open-portal-session.controller.js';
import { PortalSessionController } from './portal-session.controller.js';

@Module({
  imports: [AuthModule, DashboardModule, IdempotencyModule, RateLimitsModule],
  controllers: [CreatePortalSessionController, OpenPortalSessionController, PortalSessionController],
})
export class PortalModule {}
