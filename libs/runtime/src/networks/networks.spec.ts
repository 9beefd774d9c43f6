import { describe, expect, it } from '@jest/globals';
import { networkOf, parseNetworks } from './networks.js';
import { parseIp } from './ip-bytes.js';

describe('parseNetworks', () => {
  it.each(['', '  '])('reads "%s" as no network', (text) => {
    expect(parseNetworks(text)).toEqual([]);
  });

  it('reads CIDR blocks of both families, separated by commas', () => {
    const networks = parseNetworks('127.0.0.0/8, ::1/128,10.1.0.0/16');
    expect(networks.map(({ cidr }) => cidr)).toEqual(['127.0.0.0/8', '::1/128', '10.1.0.0/16']);
    expect(networkOf(parseIp('10.1.255.255')!, networks)?.cidr).toBe('10.1.0.0/16');
    expect(networkOf(parseIp('10.2.0.0')!, networks)).toBeUndefined();
    expect(networkOf(parseIp('::1')!, networks)?.cidr).toBe('::1/128');
    expect(networkOf(parseIp('::2')!, networks)).toBeUndefined();
  });

  it('ignores the bits after the prefix', () => {
    expect(networkOf(parseIp('127.9.9.9')!, parseNetworks('127.0.0.1/8'))).toBeDefined();
  });

  it('takes a mapped block for the IPv4 block', () => {
    expect(networkOf(parseIp('127.0.0.1')!, parseNetworks('::ffff:127.0.0.0/104'))).toBeDefined();
    expect(networkOf(parseIp('128.0.0.1')!, parseNetworks('::ffff:127.0.0.0/104'))).toBeUndefined();
    expect(networkOf(parseIp('10.0.0.1')!, parseNetworks('::ffff:0.0.0.0/96'))).toBeDefined();
  });

  it.each(['::ffff:10.0.0.1/95', '::10.0.0.1/128', '64:ff9b::10.0.0.1/128'])('takes %s for no IPv4 block', (cidr) => {
    expect(networkOf(parseIp('10.0.0.1')!, parseNetworks(cidr))).toBeUndefined();
  });

  it('takes /0 for everything of its family', () => {
    expect(networkOf(parseIp('10.0.0.1')!, parseNetworks('0.0.0.0/0'))).toBeDefined();
    expect(networkOf(parseIp('fd00::1')!, parseNetworks('0.0.0.0/0'))).toBeUndefined();
  });

  it.each([
    '127.0.0.1',
    '127.0.0.0/33',
    '::1/129',
    '10/8',
    '0x7f.0.0.1/8',
    'localhost/8',
    '10.0.0.0/8/8',
    '10.0.0.0/',
    '/8',
    'x',
  ])('names "%s" as bad', (bad) => {
    expect(() => parseNetworks(`::1/128,${bad}`)).toThrow(`"${bad}"`);
  });
});
