import { HttpException } from '@nestjs/common';
import { GaplessError, type ErrorCode, type FieldProblem } from '#libs/domain';
import { CommitLostError, isQueryTimeout } from '#libs/postgres';
import { INTERNAL_ERROR, type ProblemCode } from './problem-types.js';

/** A failure in terms that a caller may see. */
export interface Failure {
  readonly code: ProblemCode;
  readonly detail: string;
  readonly problems: readonly FieldProblem[];
  readonly retryAfterSeconds?: number;
  /** Which limit is reached. */
  readonly limit?: string;
  /** Set if HTTP has a more exact status than the code's own. */
  readonly status?: number;
}

/** Long enough for a restart of a server, short enough not to be noticed. */
const UNAVAILABLE_RETRY_SECONDS = 2;

const UNAVAILABLE: Failure = {
  code: 'unavailable',
  detail: 'The service cannot reach its storage at the moment. Nothing was changed; try again.',
  problems: [],
  retryAfterSeconds: UNAVAILABLE_RETRY_SECONDS,
};

const TOO_SLOW: Failure = {
  ...UNAVAILABLE,
  detail:
    'The storage took too long to answer. Try again later. If it happens again, give the request id to the operator.',
};

/** The methods of requests that change nothing. */
const READS: readonly (string | undefined)[] = ['GET', 'HEAD'];

const UNEXPECTED: Failure = {
  code: INTERNAL_ERROR,
  detail: 'The request failed because of an error in Gapless. Give the request id to its operator.',
  problems: [],
};

/**
 * Our texts for requests that the framework refuses before a handler runs. The framework's texts name paths and
 * internals.
 */
const REFUSED_BY_FRAMEWORK: Readonly<Record<number, { readonly code: ErrorCode; readonly detail: string }>> = {
  400: { code: 'malformed_request', detail: 'The request cannot be read.' },
  404: { code: 'not_found', detail: 'There is no such operation.' },
  408: { code: 'malformed_request', detail: 'The request did not arrive in time.' },
  413: { code: 'payload_too_large', detail: 'The body is larger than this operation accepts.' },
  414: { code: 'malformed_request', detail: 'The request target is too long.' },
  415: { code: 'unsupported_media_type', detail: 'The body must be sent as application/json.' },
  431: { code: 'malformed_request', detail: 'The header fields are too large.' },
};

/** Returns the failure for a request that the framework refused with this status. */
export function refusedByFramework(status: number): Failure {
  const known = REFUSED_BY_FRAMEWORK[status];
  return known === undefined
    ? { code: 'malformed_request', detail: 'The request cannot be read.', problems: [], status }
    : { ...known, problems: [], status };
}

/** Returns the status of an error of Fastify or its plug-ins. */
function frameworkStatus(error: unknown): number | undefined {
  if (error instanceof HttpException) return error.getStatus();
  if (!(error instanceof Error) || !('statusCode' in error)) return undefined;
  return typeof error.statusCode === 'number' ? error.statusCode : undefined;
}

/**
 * Turns an error of a request into a failure.
 * @param isUnavailable whether the error means that a server such as Postgres cannot be reached
 * @param method that of the request, if it says whether the request changes anything
 */
export function failureOf(error: unknown, isUnavailable: (error: unknown) => boolean, method?: string): Failure {
  // The end of a transaction that only read.
  if (error instanceof CommitLostError && READS.includes(method)) return UNAVAILABLE;
  if (error instanceof GaplessError) {
    const { limit, retryAfterSeconds = error.code === 'unavailable' ? UNAVAILABLE_RETRY_SECONDS : undefined } =
      error.options;
    return {
      code: error.code,
      detail: error.detail,
      problems: error.problems,
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
      ...(limit === undefined ? {} : { limit }),
    };
  }
  const status = frameworkStatus(error);
  if (status !== undefined && status >= 400 && status < 500) return refusedByFramework(status);
  if (status !== 503 && !isUnavailable(error)) return UNEXPECTED;
  return isQueryTimeout(error) ? TOO_SLOW : UNAVAILABLE;
}
