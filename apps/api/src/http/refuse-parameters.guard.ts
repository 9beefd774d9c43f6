import { Injectable, SetMetadata, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { QueryParameters } from './query-parameters.js';

const READS_QUERY = Symbol('ReadsQuery');

/** Marks an operation that has query parameters, and refuses unknown ones itself. */
export const ReadsQuery = () => SetMetadata(READS_QUERY, true);

/**
 * Refuses query parameters of operations that have none (contract 8.1). It is a guard because an interceptor costs
 * several observables for each request.
 */
@Injectable()
export class RefuseParametersGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  /** @throws GaplessError `validation_failed` */
  canActivate(context: ExecutionContext): boolean {
    const { query, routeOptions } = context.switchToHttp().getRequest<FastifyRequest>();
    // Browsers add parameters of all sorts to the pages that need no key.
    const isForBrowsers = routeOptions.url?.startsWith('/api/') !== true;
    const readsQuery = this.reflector.get<boolean | undefined>(READS_QUERY, context.getHandler()) ?? isForBrowsers;
    if (!readsQuery) new QueryParameters(query, []).throwIfAny();
    return true;
  }
}
