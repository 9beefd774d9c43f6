import { Controller, Delete, Get, HttpCode, Inject, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { GaplessError } from '#libs/domain';
import { CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';
import { keyOf } from '../auth/authenticated-key.js';
import { AnyKey } from '../auth/require-scope.js';
import { LiveChatAlerts } from '../dashboard/live-chat-alerts.js';
import { PortalSessions, type PortalSession } from './portal-sessions.js';
import { portalSessionJson } from './portal.presenter.js';

/** @throws GaplessError `not_found` for a request that the portal did not make */
function portalOf({ portal }: FastifyRequest): PortalSession {
  if (portal === null) throw new GaplessError('not_found', 'The request has no portal session.');
  return portal;
}

/** `GET` and `DELETE /portal/session`: who visits the portal, and the end of the visit. */
@Controller('api/v1/portal/session')
export class PortalSessionController {
  constructor(
    private readonly sessions: PortalSessions,
    private readonly alerts: LiveChatAlerts,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Get()
  @AnyKey()
  read(@Req() request: FastifyRequest) {
    const resumed = { key: keyOf(request), portal: portalOf(request) };
    return { data: portalSessionJson(resumed, this.config, this.alerts.areServed) };
  }

  @Delete()
  @HttpCode(204)
  @AnyKey()
  async close(@Req() request: FastifyRequest): Promise<void> {
    await this.sessions.close(portalOf(request));
  }
}
