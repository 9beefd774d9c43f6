import {
  Injectable,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Observable } from 'rxjs';
import { keyOf } from '../auth/authenticated-key.js';
import { RateLimits } from './rate-limits.js';

@Injectable()
class ChangesInterceptor implements NestInterceptor {
  constructor(private readonly limits: RateLimits) {}

  async intercept(context: ExecutionContext, next: CallHandler<unknown>): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const { orgId } = keyOf(http.getRequest<FastifyRequest>());
    if (orgId !== null) await this.limits.count('changes', orgId, 1, http.getResponse<FastifyReply>());
    return next.handle();
  }
}

/**
 * Counts a new or changed endpoint, a new key or new settings for the organization. Of such a small request, Gapless may
 * store 50 KB: a version of the endpoint, an answer to repeat, or an entry of the audit log. Service keys are not counted.
 * The guard of scopes runs before this, so a key that may change nothing takes nothing from the others. Deleting and
 * revoking are not counted: they undo what was counted, and a leaked key that uses all changes up must not prevent its own
 * revocation.
 *
 * Write it above `@Idempotent()`, which then runs first. So an answer that is repeated changes nothing, and is not counted.
 */
export const CountsAsChange = () => UseInterceptors(ChangesInterceptor);
