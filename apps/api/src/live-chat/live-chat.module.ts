import { Module } from '@nestjs/common';
import { GetLiveChatSettingsController } from './get-live-chat-settings.controller.js';
import { ListAlertsController } from './list-alerts.controller.js';
import { ListWaitingConversationsController } from './list-waiting-conversations.controller.js';
import { PutLiveChatSettingsController } from './put-live-chat-settings.controller.js';

@Module({
  controllers: [
    GetLiveChatSettingsController,
    PutLiveChatSettingsController,
    ListWaitingConversationsController,
    ListAlertsController,
  ],
})
export class LiveChatModule {}
