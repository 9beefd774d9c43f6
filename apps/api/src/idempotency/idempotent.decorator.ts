import {
  createParamDecorator,
  Injectable,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { INTERCEPTORS_METADATA } from '@nestjs/common/constants.js';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { lastValueFrom, of, type Observable } from 'rxjs';
import { Idempotency } from './idempotency.js';

const SEEDS = new WeakMap<FastifyRequest, string>();

@Injectable()
class IdempotencyInterceptor implements NestInterceptor {
  constructor(private readonly idempotency: Idempotency) {}

  async intercept(context: ExecutionContext, next: CallHandler<unknown>): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    // Awaited here, so that the answer is kept even if the caller has gone.
    const answer = await this.idempotency.once(request, http.getResponse<FastifyReply>(), (seed) => {
      if (seed !== null) SEEDS.set(request, seed);
      return lastValueFrom(next.handle());
    });
    return of(answer);
  }
}

/** Makes the operation honour an `Idempotency-Key`. */
export const Idempotent = () => UseInterceptors(IdempotencyInterceptor);

/** Whether a handler is `Idempotent`. */
export function isIdempotent(handler: object): boolean {
  const interceptors = Reflect.getMetadata(INTERCEPTORS_METADATA, handler) as readonly unknown[] | undefined;
  return interceptors?.includes(IdempotencyInterceptor) ?? false;
}

/**
 * A UUID that is the same for every attempt at an `Idempotent` request; `null` without a key. A process may end after
 * the effect and before the answer is stored. Derive the ids of the effect from it, so that the repeat has no other.
 */
export const Seed = createParamDecorator(
  (_: unknown, context: ExecutionContext): string | null =>
    SEEDS.get(context.switchToHttp().getRequest<FastifyRequest>()) ?? null,
);
