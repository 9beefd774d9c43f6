import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';

/** How much of an operation a caller may use, where it differs from the others. */
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

/** Gives routes the body limit that `@Limits` names; to be called before the routes are there. */
export function applyBodyLimits(instance: FastifyInstance): void {
  instance.addHook('onRoute', (route) => {
    const bodyBytes = route.config?.limits?.bodyBytes;
    if (bodyBytes !== undefined) route.bodyLimit = bodyBytes;
  });
}
