import { Controller, Get, Query } from '@nestjs/common';
import type { OrgId } from '#libs/domain';
import { ChatQueueReader } from '#libs/postgres';
import { RequireScope } from '../auth/require-scope.js';
import { QueryParameters, type PageLimits } from '../http/query-parameters.js';
import { ReadsQuery } from '../http/refuse-parameters.guard.js';
import { decodeAlertCursor, encodeAlertCursor } from './alert-cursor.js';
import { alertJson } from './live-chat.presenter.js';
import { OrgInPath } from './org-in-path.decorator.js';

export const ALERTS_PAGE: PageLimits = { max: 1_000, fallback: 50 };

/** `GET /internal/orgs/:orgId/alerts`: the alerts that were raised, and how each was cleared; newest first. */
@Controller('api/v1/internal/orgs/:orgId/alerts')
export class ListAlertsController {
  constructor(private readonly queues: ChatQueueReader) {}

  @Get()
  @ReadsQuery()
  @RequireScope('settings:read')
  async list(@OrgInPath() orgId: OrgId, @Query() query: unknown) {
    const parameters = new QueryParameters(query, ['cursor', 'limit']);
    const limit = parameters.limit(ALERTS_PAGE);
    const after = parameters.cursor(decodeAlertCursor);
    parameters.throwIfAny();
    const { alerts, hasMore } = await this.queues.alerts(orgId, limit, after);
    const last = alerts.at(-1);
    return {
      data: alerts.map(alertJson),
      next_cursor: hasMore && last !== undefined ? encodeAlertCursor(last.place) : null,
    };
  }
}
