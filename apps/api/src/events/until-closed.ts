import type { FastifyReply } from 'fastify';
import { whenClosed } from '../http/when-closed.js';

/** Made once: the default reason has a stack, which costs a busy reader more than the rest of its end. */
const CLOSED = new Error('the connection is closed');

/** Returns a signal that is aborted when the response ends, complete or because the caller is gone. */
export function untilClosed(reply: FastifyReply): AbortSignal {
  const closed = new AbortController();
  whenClosed(reply, () => {
    closed.abort(CLOSED);
  });
  return closed.signal;
}
