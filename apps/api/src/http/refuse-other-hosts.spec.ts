import { expect, it, jest } from '@jest/globals';
import type { FastifyRequest } from 'fastify';
import { refuseOtherHosts } from './refuse-other-hosts.js';

/** Returns why the request is refused. Like in some versions of Node, one of its properties throws. */
function refusalOf(rawHeaders: readonly string[], host: string | undefined, httpVersion = '1.1'): string | null {
  const raw = {
    headers: { host },
    rawHeaders,
    httpVersion,
    get headersDistinct(): never {
      throw new TypeError('dest[field].push is not a function');
    },
  };
  const done = jest.fn<(error?: Error) => void>();
  refuseOtherHosts({ raw } as unknown as FastifyRequest, null, done);
  expect(done).toHaveBeenCalledTimes(1);
  return done.mock.calls[0]?.[0]?.message ?? null;
}

it.each([
  ['one host', ['Host', 'a'], 'a', '1.1'],
  ['one host beside headers that every object has', ['__proto__', 'a', 'constructor', 'b', 'hOST', 'a'], 'a', '1.1'],
  ['a value that is the name of the header', ['Host', 'host', 'X', 'host'], 'host', '1.1'],
  ['no host in HTTP/1.0', [], undefined, '1.0'],
])('accepts %s', (_what, rawHeaders, host, httpVersion) => {
  expect(refusalOf(rawHeaders, host, httpVersion)).toBeNull();
});

it.each([
  ['no host', [], undefined, 'The request has no Host header.'],
  ['several hosts', ['Host', 'a', 'X', 'y', 'host', 'b'], 'a', 'The request has several Host headers.'],
  ['an invalid host', ['Host', 'a b'], 'a b', 'The Host header is not a host.'],
])('refuses %s', (_what, rawHeaders, host, reason) => {
  expect(refusalOf(rawHeaders, host)).toBe(`malformed_request: ${reason}`);
});
