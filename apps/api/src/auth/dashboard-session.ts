import type { FastifyRequest } from 'fastify';
import { GaplessError } from '#libs/domain';
import type { SessionName } from '#libs/postgres';

/** The dashboard session of a request, after it was checked. */
export interface DashboardSession {
  readonly name: SessionName;
  /** The value that its unsafe requests must send in `X-CSRF-Token`. */
  readonly csrfToken: string;
  readonly expiresAt: Date;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** `null` for a request with an API key of its own, and outside of `/api/`. */
    session: DashboardSession | null;
  }
}

/** @throws GaplessError `not_found` for a request that the dashboard did not make */
export function sessionOf(request: FastifyRequest): DashboardSession {
  if (request.session === null) {
    const detail =
      request.portal === null
        ? 'The request has an API key, but no dashboard session.'
        : 'The request has a portal session, but no dashboard session. Read /portal/session.';
    throw new GaplessError('not_found', detail);
  }
  return request.session;
}
