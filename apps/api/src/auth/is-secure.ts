import type { FastifyRequest } from 'fastify';

/**
 * Whether the caller speaks https: to this process, or to a proxy before it. What a proxy says is believed where the
 * service is known to be reached by https, since only then is there one.
 * @param publicUrl where callers reach the service, if that is known
 */
export function isSecure(
  { protocol, headers }: Pick<FastifyRequest, 'protocol' | 'headers'>,
  publicUrl: string | null,
): boolean {
  if (protocol === 'https') return true;
  if (publicUrl?.startsWith('https:') !== true) return false;
  const forwarded = headers['x-forwarded-proto'];
  // A chain of proxies appends; the first one stands before the caller.
  return typeof forwarded === 'string' && forwarded.split(',', 1)[0]?.trim() === 'https';
}
