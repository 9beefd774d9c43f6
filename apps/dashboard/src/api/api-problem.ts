import { NoAnswer, noAnswerText } from './no-answer.js';
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
    const found = this.errors.find((error) => error.pointer === pointer || error.pointer.startsWith(`${pointer}/`));
    return found && sentenceOf(found.detail);
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

/** A JSON Pointer at the start of the api's text: `#/widget_ids/0: `. */
const POINTER = /^#(?:\/([^/:\s]+))?\S*: /;

/** Returns the api's text as people read it: without a JSON Pointer, with the name of the member instead. */
export function readableText(detail: string): string {
  const [pointer, member] = POINTER.exec(detail) ?? [];
  if (pointer === undefined) return sentenceOf(detail);
  const rest = detail.slice(pointer.length);
  return member === undefined ? sentenceOf(rest) : `${sentenceOf(member.replaceAll('_', ' '))} ${rest}`;
}

function sentenceOf(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Returns the text for a failure of any kind. */
export function failureText(error: unknown): string {
  if (error instanceof ApiProblem) return readableText(error.message);
  if (error instanceof NoAnswer) return noAnswerText(error);
  return 'Something went wrong in this page. Reload it, and try again.';
}
