import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly bodyLimitBytes?: number;
  }
}

/** Lets an operation take larger bodies than the others. */
export const BodyLimit = (bytes: number) => RouteConfig({ bodyLimitBytes: bytes });

/** Makes `@BodyLimit` work; to be called before the routes are there. */
export function applyBodyLimits(instance: FastifyInstance): void {
  instance.addHook('onRoute', (route) => {
    const { bodyLimitBytes } = route.config ?? {};
    if (bodyLimitBytes !== undefined) route.bodyLimit = bodyLimitBytes;
  });
}
