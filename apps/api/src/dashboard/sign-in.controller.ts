import { Controller, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GaplessError, type ApiKeyId, type Clock } from '#libs/domain';
import { parseApiKey } from '#libs/postgres';
import { CLOCK, LOGGER } from '#libs/platform';
import type { Logger } from '#libs/runtime';
import { ApiKeyAuthenticator } from '../auth/api-key-authenticator.js';
import type { AuthenticatedKey } from '../auth/authenticated-key.js';
import { DashboardSessions } from '../auth/dashboard-sessions.js';
import { sessionCookie } from '../auth/session-token.js';
import { SignsIn } from '../auth/sign-in.decorator.js';
import { networkOfCaller } from '../http/caller-address.js';
import { Callers } from '../http/callers.js';
import { JsonBody } from '../http/json-body.decorator.js';
import { RateLimits } from '../rate-limits/rate-limits.js';
import { LiveChatAlerts } from './live-chat-alerts.js';
import { orgOf, sessionJson } from './session.presenter.js';
import { SignInDto } from './sign-in.dto.js';

type SignedInKey = AuthenticatedKey & { readonly id: ApiKeyId };

/** `POST /dashboard/session`: signs in with an API key, for a working day. */
@Controller('api/v1/dashboard/session')
export class SignInController {
  constructor(
    private readonly authenticator: ApiKeyAuthenticator,
    private readonly sessions: DashboardSessions,
    private readonly rateLimits: RateLimits,
    private readonly alerts: LiveChatAlerts,
    private readonly callers: Callers,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Post()
  @HttpCode(200)
  @SignsIn()
  async signIn(
    @JsonBody(SignInDto) body: SignInDto,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const key = await this.#authenticate(body.api_key, request, reply);
    await this.rateLimits.count('sign_ins', `by ${key.id}`, 1, reply);
    const orgId = orgOf(key);
    const { token, session } = await this.sessions.open(key);
    const lifetimeSeconds = Math.floor((session.expiresAt.getTime() - this.clock.now()) / 1_000);
    reply.header('set-cookie', sessionCookie(token, lifetimeSeconds, this.callers.isSecure(request)));
    this.logger.info({ org_id: orgId, key_id: key.id, request_id: request.id }, 'dashboard.signed_in');
    return { data: sessionJson(key, session, this.alerts.areServed) };
  }

  /**
   * Counts failed attempts by address, and by the key id that they name. A valid key is accepted after any number of
   * them, so nobody can lock out others. Unknown callers get no quota headers (contract 9).
   */
  async #authenticate(apiKey: string, request: FastifyRequest, reply: FastifyReply): Promise<SignedInKey> {
    try {
      return await this.authenticator.authenticate(apiKey);
    } catch (error) {
      if (!(error instanceof GaplessError) || error.code !== 'invalid_api_key') throw error;
      // First by address: each key id that counts takes memory, and one that is refused could invent any number of them.
      const from = networkOfCaller(this.callers.addressOf(request));
      await this.rateLimits.count('sign_ins', `from ${from}`, 1, reply);
      const named = parseApiKey(apiKey)?.id;
      if (named !== undefined) await this.rateLimits.count('sign_ins', `as ${named}`, 1, reply);
      reply.removeHeader('ratelimit').removeHeader('ratelimit-policy');
      throw error;
    }
  }
}
