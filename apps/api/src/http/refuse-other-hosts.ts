import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { GaplessError } from '#libs/domain';

/** Characters of a host with its port (RFC 3986, 3.2.2). */
const HOST = /^[\w.~!$&'()*+,;=%:[\]-]*$/;
const HOST_NAME = /^host$/i;

/** Refuses HTTP/1.1 requests without a host, and those with several hosts or an invalid one (RFC 9112, 3.2). */
export function refuseOtherHosts({ raw }: FastifyRequest, _reply: unknown, done: (error?: Error) => void): void {
  const detail = hostProblem(raw);
  done(detail === null ? undefined : new GaplessError('malformed_request', detail));
}

function hostProblem({ headers: { host }, rawHeaders, httpVersion }: IncomingMessage): string | null {
  if (host === undefined) return httpVersion === '1.1' ? 'The request has no Host header.' : null;
  if (!HOST.test(host)) return 'The Host header is not a host.';
  return countHosts(rawHeaders) === 1 ? null : 'The request has several Host headers.';
}

/**
 * Counts the Host headers without a list for each request. `headersDistinct` of some versions of Node throws for a header
 * that is called `constructor`.
 * @param rawHeaders names and values, in turn
 */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (HOST_NAME.test(rawHeaders[at] ?? '')) count++;
  return count;
}
