import { Controller, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GaplessError } from '#libs/domain';
import { CONFIG, LOGGER } from '#libs/platform';
import type { Config, Logger } from '#libs/runtime';
import { SignsIn } from '../auth/sign-in.decorator.js';
import { LiveChatAlerts } from '../dashboard/live-chat-alerts.js';
import { networkOfCaller } from '../http/caller-address.js';
import { Callers } from '../http/callers.js';
import { JsonBody } from '../http/json-body.decorator.js';
import { RateLimits } from '../rate-limits/rate-limits.js';
import { OpenPortalSessionDto } from './portal-session.dto.js';
import { PortalSessions } from './portal-sessions.js';
import { isLinkToken } from './portal-token.js';
import { portalSessionJson } from './portal.presenter.js';

/** `POST /portal/session`: exchanges the token of a link for the token that the tab keeps. A link works once. */
@Controller('api/v1/portal/session')
export class OpenPortalSessionController {
  constructor(
    private readonly sessions: PortalSessions,
    private readonly rateLimits: RateLimits,
    private readonly alerts: LiveChatAlerts,
    private readonly callers: Callers,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Post()
  @HttpCode(200)
  @SignsIn()
  async open(
    @JsonBody(OpenPortalSessionDto) { link_token: linkToken }: OpenPortalSessionDto,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const address = this.callers.addressOf(request);
    const opened = isLinkToken(linkToken)
      ? await this.sessions.open(linkToken, { address, requestId: request.id })
      : undefined;
    if (opened === undefined) {
      // Only failures count, so that valid links of the same address still work.
      await this.rateLimits.count('sign_ins', `from ${networkOfCaller(address)}`, 1, reply);
      reply.removeHeader('ratelimit').removeHeader('ratelimit-policy');
      throw new GaplessError(
        'link_used_or_expired',
        'The link was used, has expired, or is unknown. It works once, within 15 minutes. Ask for a new one.',
      );
    }
    const { key, portal } = opened;
    this.logger.info({ org_id: key.orgId, session_id: portal.id, request_id: request.id }, 'portal.opened');
    return { data: { token: opened.token, session: portalSessionJson(opened, this.config, this.alerts.areServed) } };
  }
}
