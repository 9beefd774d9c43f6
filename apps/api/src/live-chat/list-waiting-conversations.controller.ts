import { Controller, Get, Query } from '@nestjs/common';
import type { OrgId } from '#libs/domain';
import { ChatQueueReader } from '#libs/postgres';
import { RequireScope } from '../auth/require-scope.js';
import { QueryParameters, type PageLimits } from '../http/query-parameters.js';
import { ReadsQuery } from '../http/refuse-parameters.guard.js';
import { waitingConversationJson } from './live-chat.presenter.js';
import { OrgInPath } from './org-in-path.decorator.js';

export const WAITING_PAGE: PageLimits = { max: 1_000, fallback: 100 };

/** `GET /internal/orgs/:orgId/waiting-conversations`: the chats in the org's queue, longest wait first. */
@Controller('api/v1/internal/orgs/:orgId/waiting-conversations')
export class ListWaitingConversationsController {
  constructor(private readonly queues: ChatQueueReader) {}

  @Get()
  @ReadsQuery()
  @RequireScope('settings:read')
  async list(@OrgInPath() orgId: OrgId, @Query() query: unknown) {
    const parameters = new QueryParameters(query, ['limit']);
    const limit = parameters.limit(WAITING_PAGE);
    parameters.throwIfAny();
    const { longest, total } = await this.queues.waiting(orgId, limit);
    return { data: longest.map(waitingConversationJson), waiting: total };
  }
}
