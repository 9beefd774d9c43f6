import type { FastifyInstance, FastifyRequest } from 'fastify';
import '../auth/authenticated-key.js';
import '../http/operation-limits.js';
import type { RateLimits } from './rate-limits.js';

/**
 * Counts every authenticated request and the bytes of its body, before the body is read. If the operation counts
 * events, it counts the first event. A body without a declared length is counted once it is read.
 */
export function limitRequests(instance: FastifyInstance, limits: RateLimits): void {
  instance.addHook('onRequest', async (request, reply) => {
    if (request.apiKey === null) return;
    await limits.count(request.routeOptions.config.limits?.countedAs ?? 'requests', request.apiKey.quota, 1, reply);
    const bytes = declaredBytes(request);
    if (bytes > 0) await limits.count('bytes', request.apiKey.quota, bytes, reply);
  });
  instance.addHook('preValidation', async (request, reply) => {
    const { apiKey, body } = request;
    if (apiKey === null || !Buffer.isBuffer(body) || declaredBytes(request) > 0) return;
    await limits.count('bytes', apiKey.quota, body.length, reply);
  });
}

/** Returns the declared length of the body, up to the largest body that is read. */
function declaredBytes({ headers, routeOptions }: FastifyRequest): number {
  return Math.min(Number(headers['content-length'] ?? 0), routeOptions.bodyLimit);
}
