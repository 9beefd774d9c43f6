import { expect } from '@jest/globals';
import type { Answer, Ask } from './http-port.js';

/** The codes of each status (contract 8.1). */
const CODES: Readonly<Record<number, readonly string[]>> = {
  400: ['malformed_request'],
  401: ['missing_api_key', 'invalid_api_key', 'link_used_or_expired'],
  403: ['insufficient_scope', 'csrf_token_invalid'],
  404: ['not_found'],
  405: ['method_not_allowed'],
  409: [
    'endpoint_inactive',
    'endpoint_limit_reached',
    'api_key_limit_reached',
    'cursor_limit_reached',
    'recovery_limit_reached',
    'cursor_conflict',
    'delivery_not_pending',
    'event_pruned',
    'idempotency_conflict',
  ],
  413: ['payload_too_large'],
  415: ['unsupported_media_type'],
  422: [
    'validation_failed',
    'unknown_event_type',
    'url_not_https',
    'url_private_network',
    'url_unresolvable',
    'url_invalid',
  ],
  429: ['rate_limited'],
  503: ['unavailable'],
};

const MEMBERS = ['type', 'title', 'status', 'detail', 'instance', 'code', 'request_id'];
/** Traces of the inside: stacks, SQL, addresses of servers, modules. */
const LEAK = /\n\s*at |node_modules|\bselect .* from\b|\binsert into\b|ECONN|postgres|kafka|typeorm/i;

/** The body of an error answer (contract 8). */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly code: string;
  readonly request_id: string;
  readonly errors?: readonly { readonly pointer: string; readonly code: string; readonly detail: string }[];
}

/** Shows that the answer is a problem as contract 8 has it. */
export function expectProblem(ask: Ask, answer: Answer): Problem {
  expect(answer.headers['content-type']).toBe('application/problem+json');
  const problem = JSON.parse(answer.text) as Problem;
  const { errors } = problem;
  expect(Object.keys(problem)).toEqual(errors === undefined ? MEMBERS : [...MEMBERS, 'errors']);
  expect(problem.status).toBe(answer.status);
  expect(CODES[answer.status]).toContain(problem.code);
  expect(problem.type).toMatch(new RegExp(`/${problem.code}$`));
  expect(problem.title).not.toBe('');
  expect(problem.detail).not.toBe('');
  expect(problem.instance).toBe(ask.path.split('?', 1)[0]);
  expect(problem.request_id).toBe(answer.headers['x-request-id']);
  if (errors !== undefined) {
    expect(errors.length).toBeGreaterThan(0);
    for (const error of errors) {
      expect(Object.keys(error)).toEqual(['pointer', 'code', 'detail']);
      expect(error.pointer).toMatch(/^#(\/|$)/);
    }
  }
  expect(answer.text).not.toMatch(LEAK);
  if (answer.status === 429 || answer.status === 503) expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  return problem;
}

/** Shows that the answer has the headers of every answer, and those of the rate limit where they belong. */
export function expectHeaders(answer: Answer, counted: 'requests' | 'events' | 'sign_ins' | 'nothing'): void {
  expect(answer.headers['x-request-id']).toMatch(/^[\w.:+/=-]{1,128}$/);
  const { ratelimit, 'ratelimit-policy': policy } = answer.headers;
  if (counted === 'nothing') {
    expect([ratelimit, policy]).toEqual([undefined, undefined]);
  } else {
    // Bytes and changes are counted besides, and shown when they run out.
    const unit = answer.status === 429 ? `(${counted}|bytes|changes)` : counted;
    expect(ratelimit).toMatch(new RegExp(`^"${unit}";r=\\d+;t=\\d+$`));
    expect(policy).toMatch(new RegExp(`^"${unit}";q=\\d+;w=\\d+$`));
  }
}
