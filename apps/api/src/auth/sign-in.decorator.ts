import { RouteConfig } from '@nestjs/platform-fastify';
import type { OperationLimits } from '../http/operation-limits.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly signsIn?: boolean;
  }
}

/** The body holds little more than a key. */
const LIMITS: OperationLimits = { bodyBytes: 4 * 1_024 };

/**
 * Marks the sign-in: it needs no key in a header, because its body has the key to check. It counts its own rate limits.
 */
export const SignsIn = () => RouteConfig({ signsIn: true, limits: LIMITS });
