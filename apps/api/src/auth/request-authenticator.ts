import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { GaplessError, type ApiKeyId } from '#libs/domain';
import { ApiKeyAuthenticator } from './api-key-authenticator.js';
import { Callers } from '../http/callers.js';
import { keyOf, type AuthenticatedKey } from './authenticated-key.js';
import type { DashboardSession } from './dashboard-session.js';
import { DashboardSessions } from './dashboard-sessions.js';
import { portalTokenIn } from '../portal/portal-token.js';
import { PortalSessions, type PortalSession } from '../portal/portal-sessions.js';
import { sessionTokenIn } from './session-token.js';

const BEARER = /^Bearer +(\S+) *$/i;

function keyIn({ headers }: FastifyRequest): string | undefined {
  const header = headers['x-api-key'];
  const key = Array.isArray(header) ? header.join() : header;
  return key === '' ? undefined : key;
}

/** The caller of a request. It always has a key: of its own, of its dashboard session, or made up of its portal session. */
export interface Authenticated {
  readonly key: AuthenticatedKey;
  readonly session: DashboardSession | null;
  readonly portal: PortalSession | null;
}

/** Identifies the caller of a request by `X-Api-Key`, by the portal's bearer token, or by the dashboard's cookie. */
@Injectable()
export class RequestAuthenticator {
  constructor(
    private readonly keys: ApiKeyAuthenticator,
    private readonly sessions: DashboardSessions,
    private readonly portal: PortalSessions,
    private readonly callers: Callers,
  ) {}

  /**
   * @throws GaplessError `missing_api_key` without key and session, or for a session that is over; `invalid_api_key`
   *   for a key that is unknown, revoked or expired alike
   */
  async authenticate(request: FastifyRequest): Promise<Authenticated> {
    const key = keyIn(request);
    if (key !== undefined) return { key: await this.keys.authenticate(key), session: null, portal: null };
    const bearer = portalTokenIn(request.headers.authorization);
    if (bearer !== undefined) return { ...(await this.portal.resume(bearer)), session: null };
    const token = sessionTokenIn(request.headers.cookie, this.callers.isSecure(request));
    if (token !== undefined) return { ...(await this.sessions.resume(token)), portal: null };
    throw new GaplessError('missing_api_key', 'Send an API key in the X-Api-Key header.');
  }

  /**
   * Identifies an agent by `X-Api-Key`, or otherwise by `Authorization: Bearer`. Cookies do not count.
   * @throws GaplessError `missing_api_key`, `invalid_api_key`
   */
  async authenticateAgent(request: FastifyRequest): Promise<AuthenticatedKey> {
    const key = keyIn(request) ?? BEARER.exec(request.headers.authorization ?? '')?.[1];
    if (key === undefined) throw new GaplessError('missing_api_key', 'Send an API key as a Bearer token.');
    return this.keys.authenticate(key);
  }

  /** Whether the key or the session of an earlier request is still valid. */
  async isInForce(request: FastifyRequest): Promise<boolean> {
    const { session, portal } = request;
    if (portal !== null) return this.portal.isOpen(portal);
    return session === null ? this.keys.isInForce(keyOf(request).id as ApiKeyId) : this.sessions.isOpen(session);
  }
}
