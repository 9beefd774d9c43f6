import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { formatIp, parseNetworks } from '#libs/runtime';
import { classifyAddress } from './classify-address.js';

/** Address, the block that refuses it, and why nobody may have a webhook sent there. */
const REFUSED: readonly (readonly [address: string, block: string, why: string])[] = [
  ['0.0.0.0', '0.0.0.0/8', 'connects to the own machine'],
  ['0.0.0.1', '0.0.0.0/8', 'this network'],
  ['0.255.255.255', '0.0.0.0/8', 'end of this network'],
  ['10.0.0.0', '10.0.0.0/8', 'start of private 10/8'],
  ['10.1.2.3', '10.0.0.0/8', 'private'],
  ['10.255.255.255', '10.0.0.0/8', 'end of private 10/8'],
  ['100.64.0.0', '100.64.0.0/10', 'start of carrier-grade NAT'],
  ['100.100.100.200', '100.64.0.0/10', 'Alibaba cloud metadata'],
  ['100.127.255.255', '100.64.0.0/10', 'end of carrier-grade NAT'],
  ['127.0.0.1', '127.0.0.0/8', 'loopback'],
  ['127.0.0.53', '127.0.0.0/8', 'systemd-resolved'],
  ['127.255.255.255', '127.0.0.0/8', 'end of loopback'],
  ['169.254.0.0', '169.254.0.0/16', 'start of link-local'],
  ['169.254.169.254', '169.254.0.0/16', 'cloud metadata'],
  ['169.254.170.2', '169.254.0.0/16', 'ECS task credentials'],
  ['169.254.255.255', '169.254.0.0/16', 'end of link-local'],
  ['172.16.0.0', '172.16.0.0/12', 'start of private 172.16/12'],
  ['172.17.0.1', '172.16.0.0/12', 'Docker bridge'],
  ['172.31.255.255', '172.16.0.0/12', 'end of private 172.16/12'],
  ['192.0.0.1', '192.0.0.0/29', 'service continuity'],
  ['192.0.0.8', '192.0.0.8/32', 'dummy address'],
  ['192.0.0.9', '192.0.0.9/32', 'reaches the nearest PCP gateway'],
  ['192.0.0.10', '192.0.0.10/32', 'reaches the nearest TURN relay'],
  ['192.0.0.170', '192.0.0.170/31', 'NAT64 discovery'],
  ['192.0.0.171', '192.0.0.170/31', 'NAT64 discovery'],
  ['192.0.0.192', '192.0.0.0/24', 'Oracle cloud metadata'],
  ['192.0.0.255', '192.0.0.0/24', 'protocol assignments'],
  ['192.0.2.1', '192.0.2.0/24', 'documentation'],
  ['192.88.99.1', '192.88.99.0/24', '6to4 relay anycast'],
  ['192.88.99.2', '192.88.99.0/24', '6a44 relay'],
  ['168.63.129.16', '168.63.129.16/32', 'platform address of Azure'],
  ['192.168.0.0', '192.168.0.0/16', 'start of private 192.168/16'],
  ['192.168.1.1', '192.168.0.0/16', 'home router'],
  ['192.168.255.255', '192.168.0.0/16', 'end of private 192.168/16'],
  ['198.18.0.0', '198.18.0.0/15', 'start of benchmarking'],
  ['198.19.255.255', '198.18.0.0/15', 'end of benchmarking'],
  ['198.51.100.7', '198.51.100.0/24', 'documentation'],
  ['203.0.113.255', '203.0.113.0/24', 'documentation'],
  ['224.0.0.1', '224.0.0.0/4', 'multicast, all hosts'],
  ['233.252.0.1', '224.0.0.0/4', 'multicast for documentation'],
  ['239.255.255.255', '224.0.0.0/4', 'end of multicast'],
  ['240.0.0.1', '240.0.0.0/4', 'reserved'],
  ['255.255.255.254', '240.0.0.0/4', 'reserved'],
  ['255.255.255.255', '255.255.255.255/32', 'broadcast'],

  ['2130706433', '127.0.0.0/8', '127.0.0.1 as one number'],
  ['0x7f000001', '127.0.0.0/8', '127.0.0.1 in hex'],
  ['017700000001', '127.0.0.0/8', '127.0.0.1 in octal'],
  ['0x7f.1', '127.0.0.0/8', '127.0.0.1, short'],
  ['127.1', '127.0.0.0/8', '127.0.0.1, short'],
  ['0177.0.0.01', '127.0.0.0/8', '127.0.0.1 in octal parts'],
  ['0300.0250.1.1', '192.168.0.0/16', '192.168.1.1 in octal parts'],
  ['0xa9fea9fe', '169.254.0.0/16', 'cloud metadata in hex'],
  ['10.1', '10.0.0.0/8', '10.0.0.1, short'],

  ['::', '::/128', 'connects to the own machine'],
  ['::1', '::1/128', 'loopback'],
  ['0:0:0:0:0:0:0:1', '::1/128', 'loopback, written out'],
  ['0000:0000:0000:0000:0000:0000:0000:0001', '::1/128', 'loopback, padded'],
  ['::2', '0.0.0.0/8', 'IPv4-compatible 0.0.0.2'],
  ['::127.0.0.1', '127.0.0.0/8', 'IPv4-compatible loopback'],
  ['::8.8.8.8', '::/96', 'IPv4-compatible is not routed, public or not'],
  ['::ffff:127.0.0.1', '127.0.0.0/8', 'mapped loopback'],
  ['::FFFF:7F00:1', '127.0.0.0/8', 'mapped loopback, upper case hex'],
  ['::ffff:0:0', '0.0.0.0/8', 'mapped 0.0.0.0'],
  ['::ffff:10.0.0.1', '10.0.0.0/8', 'mapped private'],
  ['::ffff:169.254.169.254', '169.254.0.0/16', 'mapped metadata'],
  ['0:0:0:0:0:ffff:c0a8:101', '192.168.0.0/16', 'mapped private, written out'],
  ['::ffff:0:127.0.0.1', '127.0.0.0/8', 'translated loopback'],
  ['::ffff:0:8.8.8.8', '::ffff:0:0:0/96', 'translated addresses stay in one network'],
  ['64:ff9b::127.0.0.1', '127.0.0.0/8', 'NAT64 to loopback'],
  ['64:ff9b::10.0.0.1', '10.0.0.0/8', 'NAT64 to private'],
  ['64:ff9b::a9fe:a9fe', '169.254.0.0/16', 'NAT64 to metadata'],
  ['64:ff9b:1::1', '64:ff9b:1::/48', 'NAT64 for local use'],
  ['64:ff9b:1::8.8.8.8', '64:ff9b:1::/48', 'NAT64 for local use, wherever it leads'],
  ['64:ff9b:1:ffff:ffff:ffff:ffff:ffff', '64:ff9b:1::/48', 'end of NAT64 for local use'],
  ['64:ff9b:2::1', '::/0', 'behind NAT64 nothing is assigned'],
  ['64:ff9b::1:0:0', '::/0', 'not within the /96 of NAT64'],
  ['100::', '100::/64', 'discard-only'],
  ['100::ffff:ffff:ffff:ffff', '100::/64', 'end of discard-only'],
  ['100:0:0:1::1', '100:0:0:1::/64', 'dummy prefix'],
  ['100:0:0:2::1', '::/0', 'not assigned'],
  ['200::1', '::/0', 'former NSAP'],
  ['400::1', '::/0', 'not global unicast'],
  ['1fff:ffff::1', '::/0', 'right below global unicast'],
  ['4000::1', '::/0', 'right above global unicast'],
  ['2001::1', '0.0.0.0/8', 'Teredo with the server 0.0.0.0'],
  ['2001:0:7f00:1::f7f7:f7f7', '127.0.0.0/8', 'Teredo with a loopback server'],
  ['2001:0:808:808::80ff:fffe', '127.0.0.0/8', 'Teredo with a loopback client'],
  ['2001:0:4136:e378:8000:63bf:f5ff:fffe', '10.0.0.0/8', 'Teredo with a private client'],
  ['2001:1::1', '2001:1::1/128', 'nearest PCP gateway'],
  ['2001:1::2', '2001:1::2/128', 'nearest TURN relay'],
  ['2001:1::3', '2001:1::3/128', 'nearest SRP registrar'],
  ['2001:1::4', '2001::/23', 'protocol assignments'],
  ['2001:2::1', '2001:2::/48', 'benchmarking'],
  ['2001:2:1::1', '2001::/23', 'protocol assignments'],
  ['2001:10::1', '2001:10::/28', 'ORCHID'],
  ['2001:1f:ffff::1', '2001:10::/28', 'end of ORCHID'],
  ['2001:20::1', '2001:20::/28', 'ORCHIDv2'],
  ['2001:2f:ffff::1', '2001:20::/28', 'end of ORCHIDv2'],
  ['2001:30::1', '2001:30::/28', 'drone identifier'],
  ['2001:100::1', '2001::/23', 'protocol assignments'],
  ['2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff', '2001::/23', 'end of protocol assignments'],
  ['2001:db8::1', '2001:db8::/32', 'documentation'],
  ['2001:DB8:FFFF::1', '2001:db8::/32', 'documentation, upper case'],
  ['2002:7f00:1::1', '127.0.0.0/8', '6to4 to loopback'],
  ['2002:0a00:0001::', '10.0.0.0/8', '6to4 to private'],
  ['2002:c0a8:101:1::1', '192.168.0.0/16', '6to4 to private'],
  ['2002:a9fe:a9fe::', '169.254.0.0/16', '6to4 to metadata'],
  ['2002::1', '0.0.0.0/8', '6to4 to 0.0.0.0'],
  ['2002:808:808::5efe:10.0.0.1', '10.0.0.0/8', 'ISATAP within 6to4'],
  ['2607:f8b0::5efe:192.168.1.1', '192.168.0.0/16', 'ISATAP to private'],
  ['2607:f8b0::200:5efe:127.0.0.1', '127.0.0.0/8', 'ISATAP to loopback, universal bit'],
  ['3fff::1', '3fff::/20', 'documentation'],
  ['3fff:fff:ffff::1', '3fff::/20', 'end of documentation'],
  ['5f00::1', '5f00::/16', 'segment routing'],
  ['5f01::1', '::/0', 'not global unicast'],
  ['8000::1', '::/0', 'not global unicast'],
  ['fc00::1', 'fc00::/7', 'unique local'],
  ['fd00:ec2::254', 'fc00::/7', 'EC2 metadata'],
  ['fdff:ffff::1', 'fc00::/7', 'unique local'],
  ['fe00::1', '::/0', 'not global unicast'],
  ['fe80::1', 'fe80::/10', 'link-local'],
  ['febf::1', 'fe80::/10', 'end of link-local'],
  ['fe80::5efe:8.8.8.8', 'fe80::/10', 'ISATAP on a link'],
  ['fec0::1', 'fec0::/10', 'site-local'],
  ['feff::1', 'fec0::/10', 'end of site-local'],
  ['ff02::1', 'ff00::/8', 'multicast, all nodes'],
  ['ff0e::1', 'ff00::/8', 'multicast, global'],
];

const PUBLIC: readonly (readonly [address: string, why: string])[] = [
  ['1.0.0.0', 'right above this network'],
  ['1.1.1.1', 'a public resolver'],
  ['8.8.8.8', 'a public resolver'],
  ['9.255.255.255', 'right below 10/8'],
  ['11.0.0.0', 'right above 10/8'],
  ['100.63.255.255', 'right below carrier-grade NAT'],
  ['100.128.0.0', 'right above carrier-grade NAT'],
  ['126.255.255.255', 'right below loopback'],
  ['128.0.0.0', 'right above loopback'],
  ['169.253.255.255', 'right below link-local'],
  ['169.255.0.0', 'right above link-local'],
  ['172.15.255.255', 'right below 172.16/12'],
  ['172.32.0.0', 'right above 172.16/12'],
  ['191.255.255.255', 'right below 192.0.0/24'],
  ['192.0.1.0', 'between special blocks'],
  ['192.0.3.0', 'right above documentation'],
  ['192.31.196.1', 'AS112 is globally reachable'],
  ['192.52.193.1', 'AMT is globally reachable'],
  ['192.88.98.255', 'right below the 6to4 relays'],
  ['192.88.100.0', 'right above the 6to4 relays'],
  ['192.167.255.255', 'right below 192.168/16'],
  ['192.169.0.0', 'right above 192.168/16'],
  ['192.175.48.1', 'AS112 is globally reachable'],
  ['198.17.255.255', 'right below benchmarking'],
  ['198.20.0.0', 'right above benchmarking'],
  ['198.51.99.255', 'right below documentation'],
  ['198.51.101.0', 'right above documentation'],
  ['203.0.112.255', 'right below documentation'],
  ['203.0.114.0', 'right above documentation'],
  ['223.255.255.255', 'right below multicast'],
  ['134744072', '8.8.8.8 as one number'],
  ['8.8.8', '8.8.0.8, short'],
  ['010.0.0.1', '8.0.0.1 in octal, not 10.0.0.1'],
  ['2000::', 'start of global unicast'],
  ['2001:200::1', 'right above protocol assignments'],
  ['2001:3::1', 'AMT is globally reachable'],
  ['2001:4:112::1', 'AS112 is globally reachable'],
  ['2001:4860:4860::8888', 'a public resolver'],
  ['2001:db7:ffff::1', 'right below documentation'],
  ['2001:db9::1', 'right above documentation'],
  ['2003::1', 'right above 6to4'],
  ['2606:4700:4700::1111', 'a public resolver'],
  ['2620:4f:8000::1', 'AS112 is globally reachable'],
  ['2a00:1450:4001:81b::200e', 'European address'],
  ['2c0f:fb50::1', 'African address'],
  ['3fff:1000::1', 'right above documentation'],
  ['::ffff:8.8.8.8', 'mapped public'],
  ['64:ff9b::8.8.8.8', 'NAT64 to public'],
  ['2002:808:808::1', '6to4 to public'],
  ['2001:0:808:808::fefe:fefe', 'Teredo with a public server and client'],
  ['2607:f8b0::5efe:8.8.8.8', 'ISATAP to public'],
];

describe('classifyAddress', () => {
  it.each(REFUSED)('refuses %s by %s: %s', (address, block) => {
    expect(classifyAddress(address, [])).toMatchObject({ kind: 'refused', block });
  });

  it.each(PUBLIC)('takes %s for public: %s', (address) => {
    expect(classifyAddress(address, [])).toEqual({ kind: 'public' });
  });

  it.each(['', 'localhost', '1.2.3.4.5', '256.1.1.1', '::g', '[::1]', 'fe80::1%eth0', '8.8.8.8/32', ' 8.8.8.8'])(
    'refuses what is no address: "%s"',
    (text) => {
      expect(classifyAddress(text, [])).toEqual({ kind: 'refused', block: '', reason: 'not an address' });
    },
  );

  it('judges bytes as it judges text', () => {
    expect(classifyAddress([127, 0, 0, 1], [])).toMatchObject({ kind: 'refused', block: '127.0.0.0/8' });
    expect(classifyAddress([8, 8, 8, 8], [])).toEqual({ kind: 'public' });
    expect(classifyAddress([8, 8, 8], [])).toMatchObject({ kind: 'refused' });
  });

  describe('with allowed networks', () => {
    const networks = parseNetworks('127.0.0.0/8, fd00::/8');

    it.each(['127.0.0.1', '127.255.255.255', '::ffff:127.0.0.1', '0x7f.1'])('allows %s in 127.0.0.0/8', (address) => {
      expect(classifyAddress(address, networks)).toMatchObject({ kind: 'allowed', network: { cidr: '127.0.0.0/8' } });
    });

    it('allows an IPv6 address in its network', () => {
      expect(classifyAddress('fd00::1', networks)).toMatchObject({ kind: 'allowed', network: { cidr: 'fd00::/8' } });
    });

    it.each(['128.0.0.1', '8.8.8.8', '2606:4700::1'])('still takes %s for public', (address) => {
      expect(classifyAddress(address, networks)).toEqual({ kind: 'public' });
    });

    it.each(['10.0.0.1', '::1', 'fc00::1', '169.254.169.254', '::ffff:10.0.0.1'])('still refuses %s', (address) => {
      expect(classifyAddress(address, networks)).toMatchObject({ kind: 'refused' });
    });

    it.each([
      '64:ff9b::127.0.0.1',
      '2002:7f00:1::1',
      '2001:0:808:808::80ff:fffe',
      '::127.0.0.1',
      '2607:f8b0::5efe:127.0.0.1',
    ])('refuses the tunnel %s to an address of an allowed network', (address) => {
      expect(classifyAddress(address, networks)).toMatchObject({ kind: 'refused', block: '127.0.0.0/8' });
    });

    it('allows a tunnel whose whole IPv6 address is in an allowed network', () => {
      const nat64 = parseNetworks('64:ff9b::/96');
      expect(classifyAddress('64:ff9b::10.0.0.1', nat64)).toMatchObject({ kind: 'allowed' });
    });
  });
});

type Octets = readonly [number, number, number, number];

const hex = (value: number, width = 0): string => value.toString(16).padStart(width, '0');
const group = (high: number, low: number): string => hex(high * 256 + low);

/** Every way to write an IPv4 address, or to reach it through IPv6. */
function spellingsOf([a, b, c, d]: Octets): readonly string[] {
  const number = ((a * 256 + b) * 256 + c) * 256 + d;
  const inverted = `${group(a ^ 255, b ^ 255)}:${group(c ^ 255, d ^ 255)}`;
  const groups = `${group(a, b)}:${group(c, d)}`;
  return [
    `${a}.${b}.${c}.${d}`,
    String(number),
    `0x${hex(number)}`,
    `0X${hex(number).toUpperCase()}`,
    `0${number.toString(8)}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    `${a}.${b}.${c * 256 + d}`,
    [a, b, c, d].map((part) => `0x${hex(part)}`).join('.'),
    [a, b, c, d].map((part) => `0${part.toString(8)}`).join('.'),
    `0x${hex(a)}.${b}.0${c.toString(8)}.${d}`,
    `::ffff:${a}.${b}.${c}.${d}`,
    `::ffff:${groups}`,
    `0:0:0:0:0:FFFF:${groups.toUpperCase()}`,
    `64:ff9b::${a}.${b}.${c}.${d}`,
    `64:ff9b::${groups}`,
    `2002:${groups}::`,
    `2002:${groups}:1:2:3:4:5`,
    `2001:0:${groups}::f7f7:f7f7`,
    `2001:0:808:808:0:0:${inverted}`,
    `2607:f8b0::5efe:${a}.${b}.${c}.${d}`,
  ];
}

function ipv4In(cidr: string): fc.Arbitrary<Octets> {
  const [base = '', length = ''] = cidr.split('/');
  const size = 2 ** (32 - Number(length));
  const start = base.split('.').reduce((value, part) => value * 256 + Number(part), 0);
  return fc
    .integer({ min: start, max: start + size - 1 })
    .map((value) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255]);
}

/** Written down a second time, as the facts are and not as the code has them. */
const REFUSED_IPV4 = [
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24',
  '192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
].flatMap((line) => line.split(' '));
const REFUSED_IPV6 = [
  '::/96 ::ffff:0:0:0/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001:2::/48 2001:10::/28 2001:20::/28 2001:30::/28',
  '2001:db8::/32 2001:100::/24 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8',
  '400::/6 800::/5 1000::/4 4000::/3 6000::/3 8000::/3 a000::/3 c000::/3 e000::/4',
].flatMap((line) => line.split(' '));
const PUBLIC_IPV4 = [
  '1.0.0.0/8',
  '8.0.0.0/7',
  '11.0.0.0/8',
  '12.0.0.0/6',
  '16.0.0.0/4',
  '32.0.0.0/3',
  '64.0.0.0/3',
  '128.0.0.0/3',
];

function ipv6In(cidr: string): fc.Arbitrary<readonly number[]> {
  const [network] = parseNetworks(cidr);
  const { bytes, prefixLength } = network!;
  return fc.uint8Array({ minLength: 16, maxLength: 16 }).map((random) =>
    bytes.map((byte, i) => {
      const fixed = Math.min(8, Math.max(0, prefixLength - i * 8));
      const free = 255 >> fixed;
      return (byte & ~free & 255) | (random[i]! & free);
    }),
  );
}

describe('classifyAddress, whatever the spelling', () => {
  it.each(REFUSED_IPV4)('refuses every address in %s, in every form', (cidr) => {
    fc.assert(
      fc.property(ipv4In(cidr), (octets) => {
        for (const spelling of spellingsOf(octets))
          expect([spelling, classifyAddress(spelling, []).kind]).toEqual([spelling, 'refused']);
      }),
    );
  });

  it.each(PUBLIC_IPV4)('takes the addresses in %s for public, in every form', (cidr) => {
    fc.assert(
      fc.property(ipv4In(cidr), (octets) => {
        for (const spelling of spellingsOf(octets))
          expect([spelling, classifyAddress(spelling, []).kind]).toEqual([spelling, 'public']);
      }),
    );
  });

  it.each(REFUSED_IPV6)('refuses every address in %s: compressed, written out, upper case', (cidr) => {
    fc.assert(
      fc.property(ipv6In(cidr), (bytes) => {
        const groups = Array.from({ length: 8 }, (_, i) => bytes[2 * i]! * 256 + bytes[2 * i + 1]!);
        const dotted = `${groups
          .slice(0, 6)
          .map((value) => hex(value))
          .join(':')}:${bytes.slice(12).join('.')}`;
        const spellings = [
          formatIp(bytes),
          groups.map((value) => hex(value)).join(':'),
          groups.map((value) => hex(value, 4)).join(':'),
          groups.map((value) => hex(value).toUpperCase()).join(':'),
          dotted,
        ];
        for (const spelling of spellings)
          expect([spelling, classifyAddress(spelling, []).kind]).toEqual([spelling, 'refused']);
      }),
    );
  });
});
