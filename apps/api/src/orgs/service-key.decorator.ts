import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { GaplessError, parseOrgId, type ApiKeyId, type OrgId } from '#libs/domain';
import { keyOf } from '../auth/authenticated-key.js';

type OrgRequest = FastifyRequest<{ Params: { orgId?: string } }>;

function serviceKeyOf(request: FastifyRequest): ApiKeyId {
  const { id, orgId } = keyOf(request);
  if (orgId !== null) throw new GaplessError('insufficient_scope', 'The operation is for service keys.');
  return id as ApiKeyId;
}

/** The id of the service key that makes the request. @throws GaplessError `insufficient_scope` for other keys */
export const ServiceKey = createParamDecorator((_: unknown, context: ExecutionContext): ApiKeyId =>
  serviceKeyOf(context.switchToHttp().getRequest<FastifyRequest>()),
);

/**
 * The org of the path's `:orgId`, which only a service key may name.
 * @throws GaplessError `insufficient_scope` for other keys; `not_found` for an id that is malformed
 */
export const ManagedOrg = createParamDecorator((_: unknown, context: ExecutionContext): OrgId => {
  const request = context.switchToHttp().getRequest<OrgRequest>();
  serviceKeyOf(request);
  const orgId = parseOrgId(request.params.orgId);
  if (orgId === undefined) throw noSuchOrg();
  return orgId;
});

export function noSuchOrg(): GaplessError {
  return new GaplessError('not_found', 'There is no such organization.');
}
