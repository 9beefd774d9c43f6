import type { FastifyReply } from 'fastify';

/**
 * Calls `act` once when the response has ended: complete, or because the caller is gone. Calls it at once if that has
 * happened already, such as while the key of the request was looked up.
 */
export function whenClosed({ raw }: FastifyReply, act: () => void): void {
  if (raw.destroyed) act();
  else raw.once('close', act);
}
