import { Inject, Injectable } from '@nestjs/common';
import { ProtocolError } from '@modelcontextprotocol/server';
import { mcpError, type McpError, type McpErrorName } from '#libs/domain';
import { LOGGER } from '#libs/platform';
import { Store } from '#libs/postgres';
import type { Logger } from '#libs/runtime';
import { failureOf, type Failure } from '../problems/failure.js';

const NAMES: Readonly<Partial<Record<Failure['code'], McpErrorName>>> = {
  not_found: 'NotFound',
  invalid_api_key: 'Forbidden',
  insufficient_scope: 'Forbidden',
  rate_limited: 'ResourceExhausted',
  malformed_request: 'InvalidParams',
  validation_failed: 'InvalidParams',
  unknown_event_type: 'InvalidParams',
  url_invalid: 'InvalidParams',
  url_not_https: 'InvalidParams',
  url_private_network: 'InvalidParams',
  url_unresolvable: 'InvalidParams',
};

export function protocolError({ code, message, data }: McpError): ProtocolError {
  return new ProtocolError(code, message, data);
}

/** Turns errors of the handlers into what an agent may see. */
@Injectable()
export class Refusals {
  constructor(
    private readonly store: Store,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  failure(error: unknown, requestId: string): Failure {
    const failure = failureOf(error, (cause) => this.store.isUnavailable(cause));
    const line = { err: error, request_id: requestId, code: failure.code };
    if (failure.code === 'unavailable') this.logger.warn(line, 'http.unavailable');
    else if (failure.code === 'internal_error') this.logger.error(line, 'http.failed');
    return failure;
  }

  /** Returns the error of a JSON-RPC response. */
  protocolError(error: unknown, requestId: string): ProtocolError {
    if (error instanceof ProtocolError) return error;
    const { code, detail, retryAfterSeconds, limit } = this.failure(error, requestId);
    return protocolError(
      mcpError(NAMES[code] ?? 'InternalError', detail, {
        reason: code,
        ...(limit === undefined ? {} : { limit }),
        ...(retryAfterSeconds === undefined ? {} : { retryAfterMs: retryAfterSeconds * 1_000 }),
      }),
    );
  }
}
