import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { GaplessError, type ApiKeyId, type OrgId, type PortalSessionId } from '#libs/domain';

/** The API key of a request, or the portal session that acts as one, after it was checked. */
export interface AuthenticatedKey {
  readonly id: ApiKeyId | PortalSessionId;
  /** Whose rate limits and streams the request counts for. The portal sessions of an org share one quota. */
  readonly quota: string;
  /** `null` for a service key. */
  readonly orgId: OrgId | null;
  readonly scopes: readonly string[];
  /** The latest expiry of keys that it creates. */
  readonly expiresAt: Date | null;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** `null` outside of `/api/` and `/mcp`. */
    apiKey: AuthenticatedKey | null;
  }
}

/** @throws Error on a route without authentication, which is a defect of the route */
export function keyOf(request: FastifyRequest): AuthenticatedKey {
  if (request.apiKey === null) throw new Error('the route is not authenticated');
  return request.apiKey;
}

/** The org of the request's key. A service key has none, and is refused. */
export const OrgOfKey = createParamDecorator((_: unknown, context: ExecutionContext): OrgId => {
  const { orgId } = keyOf(context.switchToHttp().getRequest<FastifyRequest>());
  if (orgId === null) throw new GaplessError('insufficient_scope', 'A service key is not bound to an organization.');
  return orgId;
});
