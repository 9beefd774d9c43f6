import type { FastifyInstance } from 'fastify';
import type { Logger } from '#libs/runtime';

/** One line per answer. The query is left out: what is in it may be secret. */
export function logAccess(instance: FastifyInstance, logger: Logger): void {
  instance.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url;
    const line = {
      method: request.method,
      // The pattern and not the path, so that lines can be counted by it.
      route: route ?? null,
      status: reply.statusCode,
      duration_ms: Math.round(reply.elapsedTime * 10) / 10,
      key_id: request.apiKey?.id ?? null,
      org_id: request.apiKey?.orgId ?? null,
      request_id: request.id,
    };
    if (route?.startsWith('/health/')) logger.debug(line, 'http.request');
    else logger.info(line, 'http.request');
    done();
  });
}
