import type { FastifyInstance } from 'fastify';
import '../auth/authenticated-key.js';
import '../http/operation-limits.js';
import type { RateLimits } from './rate-limits.js';

/** Counts every authenticated request, before its body is read; of what is counted by events, the first one. */
export function limitRequests(instance: FastifyInstance, limits: RateLimits): void {
  instance.addHook('onRequest', async (request, reply) => {
    if (request.apiKey === null) return;
    await limits.count(request.routeOptions.config.limits?.countedAs ?? 'requests', request.apiKey.id, 1, reply);
  });
}
