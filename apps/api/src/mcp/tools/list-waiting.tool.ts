import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { ChatQueueReader } from '#libs/postgres';
import { waitingConversationJson } from '../../live-chat/live-chat.presenter.js';
import { agentTool, READS, untrusted } from './tool.js';

@Injectable()
export class ListWaitingTool {
  constructor(private readonly queues: ChatQueueReader) {}

  readonly tool = agentTool({
    name: 'list_waiting_conversations',
    title: 'Who is waiting',
    description: 'Lists the chats that wait for a human, longest wait first. waiting is the number of all of them.',
    scopes: ['settings:read'],
    input: z.strictObject({ limit: z.number().int().min(1).max(100).default(20) }),
    annotations: READS,
    run: async ({ orgId }, { limit }) => {
      const { longest, total } = await this.queues.waiting(orgId, limit);
      return untrusted(JSON.stringify({ conversations: longest.map(waitingConversationJson), waiting: total }));
    },
  });
}
