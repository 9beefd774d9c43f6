import type { FastifyInstance } from 'fastify';
import type { Logger } from '#libs/runtime';

/** Paths that monitoring requests all the time. */
const WATCHED = /^\/(health|metrics)(\/|$)/;

declare module 'fastify' {
  interface FastifyRequest {
    /** The trace of the events that the request submitted; `null` if there are none. */
    traceId: string | null;
  }
}

/** Logs one line per response. It leaves out the query, which may hold secrets. */
export function logAccess(instance: FastifyInstance, logger: Logger): void {
  instance.decorateRequest('traceId', null);
  instance.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url;
    const line = {
      method: request.method,
      // The pattern and not the path, so that lines can be grouped by it.
      route: route ?? null,
      status: reply.statusCode,
      duration_ms: Math.round(reply.elapsedTime * 10) / 10,
      key_id: request.apiKey?.id ?? null,
      org_id: request.apiKey?.orgId ?? null,
      request_id: request.id,
      trace_id: request.traceId,
    };
    if (route !== undefined && WATCHED.test(route)) logger.debug(line, 'http.request');
    else logger.info(line, 'http.request');
    done();
  });
}
