import type { FastifyReply } from 'fastify';

/** Returns a signal that is aborted when the response ends, complete or because the caller is gone. */
export function untilClosed(reply: FastifyReply): AbortSignal {
  const closed = new AbortController();
  reply.raw.once('close', () => {
    closed.abort();
  });
  return closed.signal;
}
