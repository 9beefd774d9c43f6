import { Controller, Get, Query } from '@nestjs/common';
import type { OrgId } from '#libs/domain';
import { ChatQueueReader } from '#libs/postgres';
import { RequireScope } from '../auth/require-scope.js';
import { ReadsQuery } from '../http/refuse-parameters.guard.js';
import { limitIn } from './list-query.js';
import { alertJson } from './live-chat.presenter.js';
import { OrgInPath } from './org-in-path.decorator.js';

/** `GET /internal/orgs/:orgId/alerts`: the alerts that were raised, and how each was cleared; newest first. */
@Controller('api/v1/internal/orgs/:orgId/alerts')
export class ListAlertsController {
  constructor(private readonly queues: ChatQueueReader) {}

  @Get()
  @ReadsQuery()
  @RequireScope('settings:read')
  async list(@OrgInPath() orgId: OrgId, @Query() query: unknown) {
    const alerts = await this.queues.alerts(orgId, limitIn(query, { max: 1_000, fallback: 50 }));
    return { data: alerts.map(alertJson) };
  }
}
