import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { GaplessError, type ApiKeyId, type OrgId } from '#libs/domain';

/** The API key of a request, after it was checked. */
export interface AuthenticatedKey {
  readonly id: ApiKeyId;
  /** `null` for a service key. */
  readonly orgId: OrgId | null;
  readonly scopes: readonly string[];
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
