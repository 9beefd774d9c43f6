import type { FieldProblem } from '#libs/domain';
import type { Failure } from './failure.js';
import { PROBLEM_TYPES, problemTypeUri, type ProblemCode } from './problem-types.js';

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** The body of an error answer (RFC 9457; contract 8). */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** The path of the request. */
  readonly instance: string;
  readonly code: ProblemCode;
  readonly request_id: string;
  /** The invalid parts of the request, if there are any. */
  readonly errors?: readonly FieldProblem[];
}

/** @param request.url the request target; its query is left out, because it may hold secrets */
export function problemOf(failure: Failure, request: { readonly id: string; readonly url: string }): Problem {
  const { status, title } = PROBLEM_TYPES[failure.code];
  return {
    type: problemTypeUri(failure.code),
    title,
    status: failure.status ?? status,
    detail: failure.detail,
    instance: request.url.split('?', 1)[0] ?? '',
    code: failure.code,
    request_id: request.id,
    ...(failure.problems.length === 0 ? {} : { errors: failure.problems }),
  };
}
