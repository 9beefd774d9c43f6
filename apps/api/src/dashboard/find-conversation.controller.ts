import { Controller, Get, Param } from '@nestjs/common';
import { parseConversationId, type OrgId } from '#libs/domain';
import { ChatQueueReader } from '#libs/postgres';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { alertJson, waitingConversationJson } from '../live-chat/live-chat.presenter.js';

/** `GET /dashboard/conversations/:conversationId`: finds a chat that waits or has raised alerts, for the search box. */
@Controller('api/v1/dashboard/conversations/:conversationId')
export class FindConversationController {
  constructor(private readonly chats: ChatQueueReader) {}

  /** An id without a chat has no alerts: chats that were answered in time leave nothing to find. */
  @Get()
  @RequireScope('settings:read')
  async find(@OrgOfKey() orgId: OrgId, @Param('conversationId') text: string) {
    const id = parseConversationId(text);
    const { waiting, alerts } =
      id === undefined ? { waiting: null, alerts: [] } : await this.chats.conversation(orgId, id);
    return { data: { waiting: waiting && waitingConversationJson(waiting), alerts: alerts.map(alertJson) } };
  }
}
