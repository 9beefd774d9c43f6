import { describe, expect, it } from '@jest/globals';
import { callbackFailureOf, canonicalJson, grantUntil, subscriptionIdOf } from './webhook-subscription.js';

const KEY = {
  principal: 'gk_1',
  url: 'https://a.example/',
  name: 'ticket.created',
  arguments: { a: 1, b: [{ c: 2 }] },
};

describe('the id of a subscription', () => {
  it('depends on the key, the url, the name and the arguments', () => {
    const others = [
      { ...KEY, principal: 'gk_2' },
      { ...KEY, url: 'https://a.example/?' },
      { ...KEY, name: 'ticket.reply' },
      { ...KEY, arguments: { a: 1 } },
      { ...KEY, arguments: { a: '1', b: [{ c: 2 }] } },
    ];
    expect(new Set([KEY, ...others].map(subscriptionIdOf)).size).toBe(6);
  });

  it('does not depend on the order of members', () => {
    expect(subscriptionIdOf({ ...KEY, arguments: { b: [{ c: 2 }], a: 1 } })).toBe(subscriptionIdOf(KEY));
    expect(canonicalJson({ b: null, a: ['x', { d: 1, c: 2 }] })).toBe('{"a":["x",{"c":2,"d":1}],"b":null}');
  });
});

describe('a grant', () => {
  const granted = (askedMs: number | null | undefined) => grantUntil(askedMs, 0)?.getTime() ?? null;

  it('lasts from five minutes to a day, an hour by default, and without expiry only for those who ask', () => {
    expect([undefined, -1, 0, 299_999, 300_001, 86_400_001, Number.MAX_VALUE, null].map(granted)).toEqual([
      3_600_000,
      300_000,
      300_000,
      300_000,
      300_001,
      86_400_000,
      86_400_000,
      null,
    ]);
  });
});

describe('the category of an error', () => {
  it.each([
    ['http_status: 302', 'challenge_failed'],
    ['http_status: 307', 'challenge_failed'],
    ['http_status: 404', 'http_4xx'],
    ['http_status: 503', 'http_5xx'],
    ['timeout: no answer in 10 s', 'timeout'],
    ['tls: the certificate has expired', 'tls_error'],
    ['connect: refused', 'connection_refused'],
    ['dns', 'connection_refused'],
    ['blocked_address: an address of the host is not public', 'connection_refused'],
  ])('of %s is %s', (error, category) => {
    expect(callbackFailureOf(error)).toBe(category);
  });
});
