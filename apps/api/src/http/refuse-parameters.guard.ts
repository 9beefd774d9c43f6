import { Injectable, SetMetadata, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { QueryParameters } from './query-parameters.js';

const READS_QUERY = Symbol('ReadsQuery');

/** The operation has query parameters, and refuses by itself what it does not know. */
export const ReadsQuery = () => SetMetadata(READS_QUERY, true);

/**
 * Refuses query parameters where an operation has none (contract 8.1). A guard, since an
 * interceptor costs each request several observables.
 */
@Injectable()
export class RefuseParametersGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  /** @throws GaplessError `validation_failed` */
  canActivate(context: ExecutionContext): boolean {
    const { query, routeOptions } = context.switchToHttp().getRequest<FastifyRequest>();
    // Open pages are for browsers, too, which come with all sorts of parameters.
    const isForBrowsers = routeOptions.url?.startsWith('/api/') !== true;
    const readsQuery = this.reflector.get<boolean | undefined>(READS_QUERY, context.getHandler()) ?? isForBrowsers;
    if (!readsQuery) new QueryParameters(query, []).throwIfAny();
    return true;
  }
}
