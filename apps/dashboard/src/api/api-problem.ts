import type { components } from './schema.js';

type Problem = components['schemas']['Problem'];

/** Why the api did not do what it was asked (RFC 9457). */
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

  /** The problem of the member, in the api's words, or of a member within it. */
  problemOf(member: string): string | undefined {
    const pointer = `#/${member}`;
    return this.errors.find((error) => error.pointer === pointer || error.pointer.startsWith(`${pointer}/`))?.detail;
  }
}

/** The api's answer as an error, whatever the answer was: a proxy in between does not speak problem+json. */
export function apiProblem(status: number, body: unknown): ApiProblem {
  if (isProblem(body)) return new ApiProblem(status, body.code, body.detail, body.request_id, body.errors ?? []);
  return new ApiProblem(status, 'unknown', `The server answered ${status}.`);
}

function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && 'code' in body && 'detail' in body;
}

/** The text for a failure of any kind. */
export function failureText(error: unknown): string {
  if (error instanceof ApiProblem) return error.message;
  // That is how `fetch` reports that there was no response.
  if (error instanceof TypeError) return 'The server cannot be reached. Check your connection, then try again.';
  return 'Something went wrong in this page. Reload it, and try again.';
}
