import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Metrics } from '#libs/telemetry';

/** The labels of requests without a route, because their paths may be anything. */
const UNMATCHED = { method: 'any', route: 'unmatched' };

/** Counts responses by the route's pattern, and measures how long they take. */
export function measureRequests(instance: FastifyInstance, metrics: Metrics): void {
  instance.addHook('onResponse', (request, reply, done) => {
    const route = request.is404 ? undefined : request.routeOptions.url;
    const labels = route === undefined ? UNMATCHED : { method: request.method, route };
    metrics.add('gapless_http_requests_total', { ...labels, status: String(reply.statusCode) });
    if (!waits(request, reply)) {
      metrics.observe('gapless_http_request_duration_seconds', labels, reply.elapsedTime / 1_000);
    }
    done();
  });
}

/** Whether the request asked for a slow response: a long poll or a stream. */
function waits(request: FastifyRequest, reply: FastifyReply): boolean {
  const { wait } = request.query as { readonly wait?: unknown };
  return wait !== undefined || String(reply.getHeader('content-type')).startsWith('text/event-stream');
}
