import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { systemClock } from '#libs/domain';
import { refusedByFramework } from '../problems/failure.js';
import { sendProblem } from '../problems/send-problem.js';
import { PROBLEM_MEDIA_TYPE, problemOf } from '../problems/problem.js';
import { limitPipelining, MAX_PIPELINED } from './limit-pipelining.js';
import { OpenConnections, type ClosingPatience } from './open-connections.js';
import { requestIds } from './request-id.js';
import { answerOnSocket } from './socket-problem.js';

/** The largest body of an operation without a limit of its own. */
const BODY_LIMIT_BYTES = 256 * 1024;
/** From the first byte of a request to its last. The largest body takes this long at 1 Mbit/s. */
const REQUEST_TIMEOUT_MS = 40_000;
const HEADERS_TIMEOUT_MS = 10_000;
/** Longer than the usual idle timeout of load balancers, so that they close idle connections first. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
/** How often the server looks for requests that are too slow. */
const TIMEOUT_CHECK_MS = 2_000;

/** The longest request target. So an id that is too long is answered as every other malformed id. */
const MAX_PARAM_LENGTH = 16 * 1024;

/** How often a closing server looks for connections that it need not wait for. */
const SWEEP_MS = 50;
/** An ingest may take 15 s. Deployments allow 30 s for the whole stop. */
const CLOSING_PATIENCE: ClosingPatience = { requestMs: 5_000, answerMs: 20_000 };

/** Fastify for Nest, without the body parsers that Nest would add: `configureApi` adds the only one. */
class ApiAdapter extends FastifyAdapter {
  closingPatience = CLOSING_PATIENCE;
  readonly #connections = new OpenConnections(this.getInstance<FastifyInstance>().server);

  override registerParserMiddleware(): void {
    // `configureApi` adds the only one.
  }

  /** Finishes the responses in progress as far as clients send and read in time, and closes idle connections. */
  override async close(): Promise<void> {
    const beganMs = performance.now();
    const sweep = setInterval(() => {
      this.#connections.sweep(performance.now() - beganMs, this.closingPatience);
    }, SWEEP_MS);
    try {
      await super.close();
    } finally {
      clearInterval(sweep);
    }
  }
}

/** Creates the Fastify of the api, with strict limits and timeouts. */
export function createApiAdapter(closingPatience = CLOSING_PATIENCE): FastifyAdapter {
  const requestId = requestIds(systemClock);
  const adapter = new ApiAdapter({
    logger: false,
    genReqId: requestId,
    bodyLimit: BODY_LIMIT_BYTES,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      // Node would refuse the request without a body. `refuseWithoutHost` answers with a problem.
      requireHostHeader: false,
    },
    // While the process ends, requests that have arrived are still answered, and their connections closed.
    return503OnClosing: false,
    // If a target cannot be decoded, the router answers before any hook runs.
    frameworkErrors: (error: { readonly statusCode?: number }, request: FastifyRequest, reply: FastifyReply) => {
      reply.header('x-request-id', request.id);
      sendProblem(request, reply, refusedByFramework(error.statusCode ?? 400));
    },
    clientErrorHandler: (error, socket) => {
      answerOnSocket(error, socket, requestId({ headers: {} }));
    },
  });
  adapter.closingPatience = closingPatience;
  const instance = adapter.getInstance<FastifyInstance>();
  ignoreExpectations(instance.server);
  limitPipelining(instance.server, (request, response) => {
    refusePipelined(request, response, requestId(request));
  });
  return adapter;
}

function refusePipelined({ url = '' }: IncomingMessage, response: ServerResponse, id: string): void {
  const detail = `At most ${MAX_PIPELINED} requests of a connection may wait for their answers.`;
  const problem = problemOf({ code: 'rate_limited', detail, problems: [] }, { id, url });
  response.writeHead(problem.status, { 'content-type': PROBLEM_MEDIA_TYPE, 'retry-after': '1', 'x-request-id': id });
  response.end(JSON.stringify(problem));
}

/**
 * Ignores expectations other than `100-continue`, as RFC 9110, 10.1.1 allows. Node would refuse them without a body.
 */
function ignoreExpectations(server: Server): void {
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
}
