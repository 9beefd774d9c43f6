import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';

/** The limits of an operation that differ from the defaults. */
export interface OperationLimits {
  /** The largest body. */
  readonly bodyBytes?: number;
  /** The unit that the rate limit counts; default: requests. */
  readonly countedAs?: 'requests' | 'events';
}

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly limits?: OperationLimits;
  }
}

export const Limits = (limits: OperationLimits) => RouteConfig({ limits });

/** Gives routes the body limit of `@Limits`. Call this before the routes are registered. */
export function applyBodyLimits(instance: FastifyInstance): void {
  instance.addHook('onRoute', (route) => {
    const bodyBytes = route.config?.limits?.bodyBytes;
    if (bodyBytes !== undefined) route.bodyLimit = bodyBytes;
  });
}
