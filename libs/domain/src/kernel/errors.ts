/** Every error code that a caller can meet (contract 8). One filter maps them to HTTP. */
export const ERROR_CODES = [
  'malformed_request',
  'missing_api_key',
  'invalid_api_key',
  'link_used_or_expired',
  'insufficient_scope',
  'csrf_token_invalid',
  'not_found',
  'method_not_allowed',
  'endpoint_inactive',
  'delivery_not_pending',
  'endpoint_limit_reached',
  'api_key_limit_reached',
  'cursor_limit_reached',
  'recovery_limit_reached',
  'cursor_conflict',
  'event_pruned',
  'idempotency_conflict',
  'payload_too_large',
  'unsupported_media_type',
  'validation_failed',
  'unknown_event_type',
  'url_not_https',
  'url_private_network',
  'url_unresolvable',
  'url_invalid',
  'rate_limited',
  'unavailable',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** One problem in one place of a document; `pointer` is a JSON Pointer in fragment form (`#/events/0`). */
export interface FieldProblem {
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

/** An error that is reported to the caller. `detail` is shown to them, so it names no host, SQL or stack. */
export class GaplessError extends Error {
  override readonly name = 'GaplessError';

  constructor(
    readonly code: ErrorCode,
    readonly detail: string,
    readonly options: {
      readonly problems?: readonly FieldProblem[];
      /** Seconds to wait before a retry. */
      readonly retryAfterSeconds?: number;
      /** Which limit is reached, for programs. */
      readonly limit?: string;
      readonly cause?: unknown;
    } = {},
  ) {
    super(`${code}: ${detail}`, options.cause === undefined ? undefined : { cause: options.cause });
  }

  get problems(): readonly FieldProblem[] {
    return this.options.problems ?? [];
  }
}
