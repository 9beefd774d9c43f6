import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { GaplessError, parseOrgId, type OrgId } from '#libs/domain';
import { keyOf } from '../auth/authenticated-key.js';

/**
 * The org of the path's `:orgId`: any, for a service key; the own one, for an org's key, which cannot distinguish
 * another org from one that does not exist.
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
