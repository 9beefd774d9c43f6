/** `refused`: a retry would not help. `unavailable`: the service did not answer, or asked the client to retry later. */
export type ApiErrorKind = 'refused' | 'unavailable';

/** One problem with one member of a request; `pointer` is a JSON Pointer (`#/events/0/data`). */
export interface ApiProblem {
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

interface ApiErrorOptions extends ErrorOptions {
  readonly retryAfterMs?: number | undefined;
}

/** A request failed, and so did all its retries. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** The wait that `Retry-After` asks for, milliseconds, at most 10 minutes; `undefined` if it asks for none. */
  readonly retryAfterMs: number | undefined;

  /**
   * @param status of the answer; `undefined` if there was none
   * @param code from the service's closed list, such as `invalid_api_key`; without an answer, the transport's code,
   *   such as `ECONNREFUSED`
   */
  constructor(
    readonly kind: ApiErrorKind,
    readonly status: number | undefined,
    readonly code: string,
    readonly detail: string,
    readonly problems: readonly ApiProblem[] = [],
    options: ApiErrorOptions = {},
  ) {
    super([status, code, detail].filter((part) => part !== undefined && part !== '').join(' '), options);
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Stands for the code of an answer that has none. */
const UNCODED = 'unknown';
const REDIRECT = 'the base url answers with a redirect, which an API key must not follow: use the url that it leads to';
const STRAY = 'the answer is not from Gapless: check the base url, and proxies in between';

/** Makes an error from a problem document (RFC 9457), or from whatever else a proxy answered. */
export function apiErrorOf(status: number, body: unknown, retryAfterMs?: number): ApiError {
  const problem = (typeof body === 'object' && body !== null ? body : {}) as {
    readonly code?: unknown;
    readonly detail?: unknown;
    readonly errors?: unknown;
  };
  const kind = status === 429 || status === 408 || status >= 500 ? 'unavailable' : 'refused';
  if (typeof problem.code !== 'string') {
    const detail = status >= 300 && status < 400 ? REDIRECT : STRAY;
    return new ApiError(kind, status, UNCODED, detail, [], { retryAfterMs });
  }
  return new ApiError(
    kind,
    status,
    problem.code,
    typeof problem.detail === 'string' ? problem.detail : '',
    Array.isArray(problem.errors) ? (problem.errors as readonly ApiProblem[]) : [],
    { retryAfterMs },
  );
}

/** Whether another server answered, such as a proxy: errors of Gapless all have a code. */
export function isForeign({ status, code }: ApiError): boolean {
  return status !== undefined && code === UNCODED;
}

/** Whether the error is a refusal that is not from Gapless. */
export function isStray(error: unknown): error is ApiError {
  return error instanceof ApiError && error.kind === 'refused' && isForeign(error);
}

/** Returns the refusal as an outage, which a retry may end. */
export function outageOf({ status, code, detail, problems, retryAfterMs }: ApiError): ApiError {
  return new ApiError('unavailable', status, code, detail, problems, { retryAfterMs });
}
