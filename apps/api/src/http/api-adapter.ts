import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GaplessError, systemClock } from '#libs/domain';
import { refusedByFramework } from '../problems/failure.js';
import { sendProblem } from '../problems/send-problem.js';
import { OpenConnections } from './open-connections.js';
import { requestIds } from './request-id.js';
import { answerOnSocket } from './socket-problem.js';

/** The largest body of an operation that does not say otherwise with `@BodyLimit`. */
const BODY_LIMIT_BYTES = 256 * 1024;
/** From the first byte of a request to its last: the largest body at 1 Mbit/s takes this long. */
const REQUEST_TIMEOUT_MS = 40_000;
const HEADERS_TIMEOUT_MS = 10_000;
/** Longer than the usual idle timeout of load balancers, so that it is not us who closes first. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
/** How often connections are searched for requests that are too slow. */
const TIMEOUT_CHECK_MS = 2_000;

/** As long as a request target can be at most: an id that is too long is no such id, like every other malformed one. */
const MAX_PARAM_LENGTH = 16 * 1024;

/** How often a closing server looks for connections that have become idle. */
const IDLE_CHECK_MS = 50;

/** Fastify for Nest, without the body parsers that Nest would add: `acceptJson` is the only one. */
class ApiAdapter extends FastifyAdapter {
  readonly #connections = new OpenConnections(this.getInstance<FastifyInstance>().server);

  override registerParserMiddleware(): void {
    // Nothing to do: see above.
  }

  /** Answers what is being answered, and waits for nobody else. */
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

/** Fastify as the api needs it: strict about what it reads, patient with nobody. */
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
      // Node would refuse the request without a body. `refuseWithoutHost` does it with a problem.
      requireHostHeader: false,
    },
    // While the process ends, what has arrived is still answered, and its connection closed.
    return503OnClosing: false,
    // A target that cannot be decoded: the router answers before any hook runs.
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
  return adapter;
}

/** An expectation other than `100-continue` need not be met (RFC 9110, 10.1.1). Node would refuse it without a body. */
function ignoreExpectations(server: Server): void {
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
}

/**
 * Bodies are JSON and nothing else (415 otherwise), and reach the handlers as the bytes that were sent: what is read from
 * them is each operation's business.
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
