import {
  Injectable,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { lastValueFrom, of, type Observable } from 'rxjs';
import { Idempotency } from './idempotency.js';

@Injectable()
class IdempotencyInterceptor implements NestInterceptor {
  constructor(private readonly idempotency: Idempotency) {}

  async intercept(context: ExecutionContext, next: CallHandler<unknown>): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    // Awaited here, so that the answer is kept even if the caller has gone.
    const answer = await this.idempotency.once(
      http.getRequest<FastifyRequest>(),
      http.getResponse<FastifyReply>(),
      () => lastValueFrom(next.handle()),
    );
    return of(answer);
  }
}

/** Makes the operation honour an `Idempotency-Key`. */
export const Idempotent = () => UseInterceptors(IdempotencyInterceptor);
