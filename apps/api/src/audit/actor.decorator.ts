import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AuditActor } from '#libs/postgres';
import { keyOf } from '../auth/authenticated-key.js';
import '../auth/dashboard-session.js';
import type { Callers } from '../http/callers.js';

/** Enough to distinguish sessions; nobody can take one over by it. */
const SESSION_NAME_LENGTH = 16;

declare module 'fastify' {
  interface FastifyRequest {
    /** Who made the request, for the audit log. */
    readonly actor: AuditActor;
  }
}

/** Has each request name its caller, once it is asked. */
export function nameActors(instance: FastifyInstance, callers: Callers): void {
  instance.decorateRequest('actor', {
    getter(this: FastifyRequest): AuditActor {
      const { session } = this;
      return {
        kind: session === null ? 'api_key' : 'dashboard',
        keyId: keyOf(this).id,
        session: session?.name.slice(0, SESSION_NAME_LENGTH) ?? null,
        address: callers.addressOf(this),
        requestId: this.id,
      };
    },
  });
}

/** Who makes the change: for the records, so that the audit log names the caller. */
export const Actor = createParamDecorator(
  (_: unknown, context: ExecutionContext): AuditActor => context.switchToHttp().getRequest<FastifyRequest>().actor,
);
