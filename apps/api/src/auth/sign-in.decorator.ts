import { RouteConfig } from '@nestjs/platform-fastify';
import type { OperationLimits } from '../http/operation-limits.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly signsIn?: boolean;
  }
}

/** A key, and nothing around it to speak of. */
const LIMITS: OperationLimits = { bodyBytes: 4 * 1_024 };

/** The operation is for those who are nobody yet: the key to check is in its body. It counts its callers by itself. */
export const SignsIn = () => RouteConfig({ signsIn: true, limits: LIMITS });
