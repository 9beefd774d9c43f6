import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { GaplessError, parseOrgId, type OrgId } from '#libs/domain';
import { keyOf } from '../auth/authenticated-key.js';

/**
 * The org of the path's `:orgId`. A service key may name any org. An org's key may name only its own: any other org
 * seems not to exist.
 * @throws GaplessError `not_found`
 */
export const OrgInPath = createParamDecorator((_: unknown, context: ExecutionContext): OrgId => {
  const request = context.switchToHttp().getRequest<FastifyRequest<{ Params: { orgId?: string } }>>();
  const orgId = parseOrgId(request.params.orgId);
  const { orgId: ownOrgId } = keyOf(request);
  if (orgId === undefined || (ownOrgId !== null && ownOrgId !== orgId)) {
    throw new GaplessError('not_found', 'There is no such organization.');
  }
  return orgId;
});
