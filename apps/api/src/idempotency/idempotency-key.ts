import type { FastifyRequest } from 'fastify';
import { GaplessError } from '#libs/domain';

/** Up to 255 printable ASCII characters, without spaces at the ends. */
export const IDEMPOTENCY_KEY_PATTERN = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;

/** @returns the request's `Idempotency-Key`; `undefined` without one. @throws GaplessError `malformed_request` */
export function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return undefined;
  if (typeof header === 'string' && IDEMPOTENCY_KEY_PATTERN.test(header)) return header;
  throw new GaplessError('malformed_request', 'The Idempotency-Key must be 1 to 255 visible ASCII characters.');
}
