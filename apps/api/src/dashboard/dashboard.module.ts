import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { EventsModule } from '../events/events.module.js';
import { RateLimitsModule } from '../rate-limits/rate-limits.module.js';
import { FindConversationController } from './find-conversation.controller.js';
import { FindDeliveryController } from './find-delivery.controller.js';
import { FindRecoveryController } from './find-recovery.controller.js';
import { FollowChangesController } from './follow-changes.controller.js';
import { LiveChatAlerts } from './live-chat-alerts.js';
import { ProjectionLag } from './projection-lag.js';
import { ReadActivityController } from './read-activity.controller.js';
import { ReadEventController } from './read-event.controller.js';
import { ReadOrganizationController } from './read-organization.controller.js';
import { ReadOverviewController } from './read-overview.controller.js';
import { ReadSessionController } from './read-session.controller.js';
import { ShortMemory } from './short-memory.js';
import { SignInController } from './sign-in.controller.js';
import { SignOutController } from './sign-out.controller.js';
import { WindowCounts } from './window-counts.js';

@Module({
  imports: [AuthModule, EventsModule, RateLimitsModule],
  controllers: [
    SignInController,
    SignOutController,
    ReadSessionController,
    ReadOverviewController,
    ReadActivityController,
    ReadEventController,
    ReadOrganizationController,
    FindDeliveryController,
    FindRecoveryController,
    FindConversationController,
    FollowChangesController,
  ],
  providers: [LiveChatAlerts, ProjectionLag, ShortMemory, WindowCounts],
  exports: [LiveChatAlerts, ProjectionLag, ShortMemory],
})
export class DashboardModule {}
