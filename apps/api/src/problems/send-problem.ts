import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Failure } from './failure.js';
import { PROBLEM_MEDIA_TYPE, problemOf } from './problem.js';

/** Answers the request with the failure (contract 8). */
export function sendProblem(request: FastifyRequest, reply: FastifyReply, failure: Failure): void {
  const problem = problemOf(failure, request);
  if (failure.retryAfterSeconds !== undefined) reply.header('retry-after', failure.retryAfterSeconds);
  // A failed handler may have announced another body. Send bytes, because Fastify adds a charset to the type of a text.
  reply.removeHeader('content-length');
  reply
    .status(problem.status)
    .header('content-type', PROBLEM_MEDIA_TYPE)
    .send(Buffer.from(JSON.stringify(problem)));
}
