import type { FastifyRequest } from 'fastify';
import { GaplessError } from '#libs/domain';

/** The bytes of the request's body. @throws GaplessError `malformed_request` when there are none */
export function bodyOf(request: FastifyRequest): Buffer {
  const { body } = request;
  if (!Buffer.isBuffer(body) || body.length === 0) throw new GaplessError('malformed_request', 'The body is missing.');
  return body;
}
