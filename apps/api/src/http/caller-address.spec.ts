import { describe, expect, it } from '@jest/globals';
import { parseNetworks } from '#libs/runtime';
import { callerAddress, isProxy, networkOfCaller } from './caller-address.js';

const proxies = parseNetworks('10.0.0.0/8, fd00::/8');

describe('callerAddress', () => {
  it.each([
    ['a caller without a proxy', '203.0.113.7', undefined, '203.0.113.7'],
    ['a caller who says that he is a proxy', '203.0.113.7', '198.51.100.1', '203.0.113.7'],
    ['the caller before a proxy', '10.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['a mapped proxy', '::ffff:10.0.0.1', '::ffff:203.0.113.7', '203.0.113.7'],
    ['the caller before two proxies', 'fd00::1', '203.0.113.7, 10.0.0.2', '203.0.113.7'],
    ['what a caller invented', '10.0.0.1', '198.51.100.1, 10.9.9.9, 203.0.113.7', '203.0.113.7'],
    ['a caller with a port', '10.0.0.1', '203.0.113.7:4711', '203.0.113.7'],
    ['an IPv6 caller with a port', '10.0.0.1', '[2001:db8::7]:4711', '2001:db8::7'],
    ['only proxies: the first of them', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['a proxy that forwards nothing', '10.0.0.1', undefined, '10.0.0.1'],
    ['nonsense: the proxy that passed it on', '10.0.0.1', 'unknown', '10.0.0.1'],
    ['nonsense before the caller', '10.0.0.1', '<script>, 203.0.113.7', '203.0.113.7'],
    ['a connection that is gone', undefined, '203.0.113.7', 'unknown'],
  ])('is that of %s', (_what, peer, forwardedFor, expected) => {
    expect(callerAddress(peer, forwardedFor, proxies)).toBe(expected);
  });

  it('believes nobody while no proxy is trusted', () => {
    expect(callerAddress('10.0.0.1', '203.0.113.7', [])).toBe('10.0.0.1');
  });
});

describe('isProxy', () => {
  it('knows the networks of proxies', () => {
    expect(isProxy('10.1.2.3', proxies)).toBe(true);
    expect(isProxy('::ffff:10.1.2.3', proxies)).toBe(true);
    expect(isProxy('203.0.113.7', proxies)).toBe(false);
    expect(isProxy(undefined, proxies)).toBe(false);
  });
});

describe('networkOfCaller', () => {
  it('counts the IPv6 addresses of one network as one', () => {
    expect(networkOfCaller('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::');
    expect(networkOfCaller('2001:db8:1:2:ffff::1')).toBe('2001:db8:1:2::');
    expect(networkOfCaller('203.0.113.7')).toBe('203.0.113.7');
    expect(networkOfCaller('unknown')).toBe('unknown');
  });
});
