import type { FastifyRequest } from 'fastify';

/**
 * Whether the caller speaks https, to this process or to a proxy before it. `X-Forwarded-Proto` counts if a trusted
 * proxy sent it, or if the public url is https.
 */
export function isSecure(
  { protocol, headers }: Pick<FastifyRequest, 'protocol' | 'headers'>,
  by: { readonly publicUrl: string | null; readonly byProxy: boolean },
): boolean {
  if (protocol === 'https') return true;
  if (!by.byProxy && by.publicUrl?.startsWith('https:') !== true) return false;
  const forwarded = headers['x-forwarded-proto'];
  // Each proxy of a chain appends a value. The first one is from the proxy that the caller reached.
  return typeof forwarded === 'string' && forwarded.split(',', 1)[0]?.trim().toLowerCase() === 'https';
}
