import { describe, expect, it } from '@jest/globals';
import {
  callbackFailureOf,
  canonicalJson,
  grantUntil,
  isCallbackSecret,
  subscriptionIdOf,
} from './webhook-subscription.js';

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

describe('a secret', () => {
  const ofBytes = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;

  it('has 24 to 64 bytes in base64 after its prefix', () => {
    expect([23, 24, 32, 64, 65].map((bytes) => isCallbackSecret(ofBytes(bytes)))).toEqual([
      false,
      true,
      true,
      true,
      false,
    ]);
    // Some libraries leave out the padding.
    expect(isCallbackSecret(ofBytes(32).replaceAll('=', ''))).toBe(true);
  });

  it.each(['', 'whsec_', ofBytes(32).slice(6), `${ofBytes(32)}\n`, ofBytes(32).replace('B', '-'), `${ofBytes(33)}A`])(
    'is not %j',
    (text) => {
      expect(isCallbackSecret(text)).toBe(false);
    },
  );
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
