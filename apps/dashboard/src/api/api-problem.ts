import type { components } from './schema.js';

type Problem = components['schemas']['Problem'];

/** The reason why the api refused a request (RFC 9457). */
export class ApiProblem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly requestId: string | null = null,
    /** The problems by JSON Pointer (`#/url`). */
    readonly errors: readonly { readonly pointer: string; readonly detail: string }[] = [],
  ) {
    super(detail);
    this.name = 'ApiProblem';
  }

  /** Returns the api's text for a problem of the member, or of a member within it. */
  problemOf(member: string): string | undefined {
    const pointer = `#/${member}`;
    return this.errors.find((error) => error.pointer === pointer || error.pointer.startsWith(`${pointer}/`))?.detail;
  }
}

/** Turns a response into an error, even one that is not problem+json, such as that of a proxy. */
export function apiProblem(status: number, body: unknown): ApiProblem {
  if (isProblem(body)) return new ApiProblem(status, body.code, body.detail, body.request_id, body.errors ?? []);
  return new ApiProblem(status, 'unknown', `The server answered ${status}.`);
}

function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && 'code' in body && 'detail' in body;
}

/** Returns the text for a failure of any kind. */
export function failureText(error: unknown): string {
  if (error instanceof ApiProblem) return error.message;
  // `fetch` throws a TypeError when there is no response.
  if (error instanceof TypeError) return 'The server cannot be reached. Check your connection, then try again.';
  return 'Something went wrong in this page. Reload it, and try again.';
}
