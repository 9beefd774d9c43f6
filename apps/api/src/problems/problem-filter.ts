import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { failureOf } from './failure.js';
import { INTERNAL_ERROR } from './problem-types.js';
import { sendProblem } from './send-problem.js';

export interface ProblemFilterOptions {
  /** Whether the error means that a server such as Postgres cannot be reached. */
  readonly isUnavailable: (error: unknown) => boolean;
  /** Called for unexpected errors, and for servers that cannot be reached. */
  readonly report: (failure: { readonly error: unknown; readonly requestId: string; readonly code: string }) => void;
}

/** Answers every error with `application/problem+json` (contract 8). */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly options: ProblemFilterOptions) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const failure = failureOf(error, this.options.isUnavailable, request.method);
    if (failure.code === INTERNAL_ERROR || failure.code === 'unavailable') {
      this.options.report({ error, requestId: request.id, code: failure.code });
    }
    if (reply.sent || reply.raw.headersSent) {
      // Breaks the response off, so that it does not look complete.
      reply.raw.destroy();
      return;
    }
    sendProblem(request, reply, failure);
  }
}
