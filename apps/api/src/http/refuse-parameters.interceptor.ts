import { Injectable, SetMetadata, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import type { Observable } from 'rxjs';
import { QueryParameters } from './query-parameters.js';

const READS_QUERY = Symbol('ReadsQuery');

/** The operation has query parameters, and refuses by itself what it does not know. */
export const ReadsQuery = () => SetMetadata(READS_QUERY, true);

/** Refuses query parameters where an operation has none (decisions, section 11: Which status). */
@Injectable()
export class RefuseParametersInterceptor implements NestInterceptor {
  constructor(private readonly reflector: Reflector) {}

  /** @throws GaplessError `validation_failed` */
  intercept(context: ExecutionContext, next: CallHandler<unknown>): Observable<unknown> {
    const { query, routeOptions } = context.switchToHttp().getRequest<FastifyRequest>();
    // What is open to everybody is for browsers, too, which are sent there with all sorts of parameters.
    const isForBrowsers = routeOptions.url?.startsWith('/api/') !== true;
    const readsQuery = this.reflector.get<boolean | undefined>(READS_QUERY, context.getHandler()) ?? isForBrowsers;
    if (!readsQuery) new QueryParameters(query, []).throwIfAny();
    return next.handle();
  }
}
