import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ApiKeyId } from '#libs/domain';
import type { AuditActor } from '#libs/postgres';
import { keyOf } from '../auth/authenticated-key.js';
import '../auth/dashboard-session.js';
import '../portal/portal-sessions.js';
import type { Callers } from '../http/callers.js';

/** The part of a session's name that is shown: it distinguishes sessions, but gives no access to them. */
const SESSION_NAME_LENGTH = 16;

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller whom the audit log names. */
    readonly actor: AuditActor;
  }
}

/** Adds `request.actor`, which is determined when it is first read. */
export function nameActors(instance: FastifyInstance, callers: Callers): void {
  instance.decorateRequest('actor', {
    getter(this: FastifyRequest): AuditActor {
      const { session, portal } = this;
      const from = { address: callers.addressOf(this), requestId: this.id };
      if (portal !== null) {
        const { id, serviceKeyId, userLabel } = portal;
        return { kind: 'portal', keyId: serviceKeyId, session: id, userLabel, ...from };
      }
      return {
        kind: session === null ? 'api_key' : 'dashboard',
        keyId: keyOf(this).id as ApiKeyId,
        session: session?.name.slice(0, SESSION_NAME_LENGTH) ?? null,
        ...from,
      };
    },
  });
}

/** The caller who makes a change, as the audit log names it. */
export const Actor = createParamDecorator(
  (_: unknown, context: ExecutionContext): AuditActor => context.switchToHttp().getRequest<FastifyRequest>().actor,
);
