import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GaplessError, systemClock } from '#libs/domain';
import { refusedByFramework } from '../problems/failure.js';
import { sendProblem } from '../problems/send-problem.js';
import { PROBLEM_MEDIA_TYPE, problemOf } from '../problems/problem.js';
import { limitPipelining, MAX_PIPELINED } from './limit-pipelining.js';
import { OpenConnections } from './open-connections.js';
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

/** How often a closing server looks for connections that have become idle. */
const IDLE_CHECK_MS = 50;

/** Fastify for Nest, without the body parsers that Nest would add: `acceptJson` is the only one. */
class ApiAdapter extends FastifyAdapter {
  readonly #connections = new OpenConnections(this.getInstance<FastifyInstance>().server);

  override registerParserMiddleware(): void {
    // `acceptJson` is the only body parser.
  }

  /** Finishes the responses in progress, and closes idle connections. */
  override async close(): Promise<void> {
    const sweep = setInterval(() => {
      this.#connections.closeIdle();
    }, IDLE_CHECK_MS);
    try {
      await super.close();
    } finally {
      clearInterval(sweep);
    }
  }
}

/** Creates the Fastify of the api, with strict limits and timeouts. */
export function createApiAdapter(): FastifyAdapter {
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
  const instance = adapter.getInstance<FastifyInstance>();
  acceptJson(instance);
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

/**
 * Accepts JSON bodies only (415 otherwise). Handlers get the bytes as they were sent, and each operation reads its own.
 */
function acceptJson(instance: FastifyInstance): void {
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const encoding = request.headers['content-encoding'];
    if (encoding !== undefined && encoding !== 'identity') {
      done(new GaplessError('unsupported_media_type', 'The body must not be encoded.'));
    } else {
      done(null, body);
    }
  });
}
