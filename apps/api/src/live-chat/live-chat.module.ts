import { Module } from '@nestjs/common';
import { RateLimitsModule } from '../rate-limits/rate-limits.module.js';
import { GetLiveChatSettingsController } from './get-live-chat-settings.controller.js';
import { ListAlertsController } from './list-alerts.controller.js';
import { ListWaitingConversationsController } from './list-waiting-conversations.controller.js';
import { PutLiveChatSettingsController } from './put-live-chat-settings.controller.js';

@Module({
  imports: [RateLimitsModule],
  controllers: [
    GetLiveChatSettingsController,
    PutLiveChatSettingsController,
    ListWaitingConversationsController,
    ListAlertsController,
  ],
})
export class LiveChatModule {}
