import { Controller, Delete, HttpCode, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sessionOf } from '../auth/dashboard-session.js';
import { DashboardSessions } from '../auth/dashboard-sessions.js';
import { AnyKey } from '../auth/require-scope.js';
import { clearedSessionCookie } from '../auth/session-token.js';
import { Callers } from '../http/callers.js';

/** `DELETE /dashboard/session`: signs out. The server ends the session, even if the browser keeps the cookie. */
@Controller('api/v1/dashboard/session')
export class SignOutController {
  constructor(
    private readonly sessions: DashboardSessions,
    private readonly callers: Callers,
  ) {}

  @Delete()
  @HttpCode(204)
  @AnyKey()
  async signOut(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<void> {
    await this.sessions.close(sessionOf(request));
    reply.header('set-cookie', clearedSessionCookie(this.callers.isSecure(request)));
  }
}
