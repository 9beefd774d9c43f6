import type { ErrorCode } from '#libs/domain';

/** The description of a kind of error for callers (RFC 9457, section 3.1). */
export interface ProblemType {
  readonly status: number;
  readonly title: string;
}

/** An error of the service itself. It has no `ErrorCode`, because callers cannot cause it on purpose. */
export const INTERNAL_ERROR = 'internal_error';

export type ProblemCode = ErrorCode | typeof INTERNAL_ERROR;

/** The only place where an error code becomes an HTTP status (contract 8.1). */
export const PROBLEM_TYPES: Readonly<Record<ProblemCode, ProblemType>> = {
  malformed_request: { status: 400, title: 'The request cannot be read' },
  missing_api_key: { status: 401, title: 'An API key is required' },
  invalid_api_key: { status: 401, title: 'The API key is not valid' },
  link_used_or_expired: { status: 401, title: 'The link does not work any more' },
  insufficient_scope: { status: 403, title: 'The API key does not allow this' },
  csrf_token_invalid: { status: 403, title: 'The request does not come from the dashboard' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'The method is not allowed here' },
  endpoint_inactive: { status: 409, title: 'The endpoint is inactive' },
  delivery_not_pending: { status: 409, title: 'The delivery is not pending' },
  endpoint_limit_reached: { status: 409, title: 'The organization has reached its limit of endpoints' },
  api_key_limit_reached: { status: 409, title: 'The organization has reached its limit of API keys' },
  cursor_limit_reached: { status: 409, title: 'The organization has reached its limit of cursors' },
  cursor_conflict: { status: 409, title: 'The cursor is not where it was expected' },
  recovery_limit_reached: { status: 409, title: 'The endpoint has reached its limit of recoveries' },
  event_pruned: { status: 409, title: 'The event is past its retention' },
  idempotency_conflict: { status: 409, title: 'The idempotency key is in use for another request' },
  payload_too_large: { status: 413, title: 'The request is too large' },
  unsupported_media_type: { status: 415, title: 'The body is not JSON' },
  validation_failed: { status: 422, title: 'The request is not valid' },
  unknown_event_type: { status: 422, title: 'The event type cannot be used here' },
  url_not_https: { status: 422, title: 'The url is not https' },
  url_private_network: { status: 422, title: 'The url is not on the public network' },
  url_unresolvable: { status: 422, title: 'The host of the url has no address' },
  url_invalid: { status: 422, title: 'The url is not valid' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal_error: { status: 500, title: 'Internal error' },
  unavailable: { status: 503, title: 'The service is unavailable' },
};

/** Returns a URI reference that identifies the kind of problem. The service answers it with a description. */
export function problemTypeUri(code: ProblemCode): string {
  return `/problems/${code}`;
}
