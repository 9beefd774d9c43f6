/** `refused`: trying again would not help. `unavailable`: the service did not answer, or asked to come back later. */
export type ApiErrorKind = 'refused' | 'unavailable';

/** One thing that is wrong with one place of a request; `pointer` is a JSON Pointer (`#/events/0/data`). */
export interface ApiProblem {
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

/** The failure after all tries. */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  /**
   * @param status of the answer; `undefined` without any
   * @param code of the service's closed list, such as `invalid_api_key`; of the transport without an answer, such as
   *   `ECONNREFUSED`
   */
  constructor(
    readonly kind: ApiErrorKind,
    readonly status: number | undefined,
    readonly code: string,
    readonly detail: string,
    readonly problems: readonly ApiProblem[] = [],
    cause?: unknown,
  ) {
    super([status, code, detail].filter((part) => part !== undefined && part !== '').join(' '), { cause });
  }
}

/** Reads RFC 9457's problem document, or what a proxy on the way has answered instead. */
export function apiErrorOf(status: number, body: unknown): ApiError {
  const problem = (typeof body === 'object' && body !== null ? body : {}) as {
    readonly code?: unknown;
    readonly detail?: unknown;
    readonly errors?: unknown;
  };
  return new ApiError(
    status === 429 || status === 408 || status >= 500 ? 'unavailable' : 'refused',
    status,
    typeof problem.code === 'string' ? problem.code : 'unknown',
    typeof problem.detail === 'string' ? problem.detail : '',
    Array.isArray(problem.errors) ? (problem.errors as readonly ApiProblem[]) : [],
  );
}
