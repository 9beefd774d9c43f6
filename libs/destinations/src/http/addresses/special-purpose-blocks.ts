import { parseBlock, type Block } from '#libs/runtime';

/**
 * A block, whether webhooks may be sent there, and the reason. If several blocks hold an address, the smallest one
 * decides.
 */
export interface SpecialPurposeBlock extends Block {
  readonly cidr: string;
  readonly reachable: boolean;
  readonly reason: string;
}

function block(cidr: string, reachable: boolean, reason: string): SpecialPurposeBlock {
  const parsed = parseBlock(cidr);
  if (parsed === undefined) throw new RangeError(`not a CIDR block: ${cidr}`);
  return { ...parsed, cidr, reachable, reason };
}

const refused = (cidr: string, reason: string): SpecialPurposeBlock => block(cidr, false, reason);
const reachable = (cidr: string, reason: string): SpecialPurposeBlock => block(cidr, true, reason);

/**
 * The IANA IPv4 and IPv6 special-purpose address registries (RFC 6890), multicast, and addresses outside global
 * unicast. `reachable` is the registry's column "Globally Reachable", with two exceptions, both refused. They are
 * anycast services of the nearest gateway (PCP, TURN, SRP) and identifiers that are not locations (ORCHID, DRIP). Forms
 * that embed an IPv4 address (mapped, NAT64, 6to4, Teredo) are judged by that address as well: see `embeddedIpv4`.
 */
export const SPECIAL_PURPOSE_BLOCKS: readonly SpecialPurposeBlock[] = [
  reachable('0.0.0.0/0', 'IPv4 unicast'),
  refused('0.0.0.0/8', '"this network" (RFC 791)'),
  refused('10.0.0.0/8', 'private use (RFC 1918)'),
  refused('100.64.0.0/10', 'shared address space of carriers (RFC 6598)'),
  refused('127.0.0.0/8', 'loopback (RFC 1122)'),
  refused('169.254.0.0/16', 'link-local, cloud metadata (RFC 3927)'),
  // Public in the registry, but in Azure it is the virtual machine's host: DHCP, DNS and the agent.
  refused('168.63.129.16/32', 'platform address of Azure'),
  refused('172.16.0.0/12', 'private use (RFC 1918)'),
  refused('192.0.0.0/24', 'IETF protocol assignments (RFC 6890)'),
  refused('192.0.0.0/29', 'IPv4 service continuity (RFC 7335)'),
  refused('192.0.0.8/32', 'IPv4 dummy address (RFC 7600)'),
  refused('192.0.0.9/32', 'anycast of the nearest PCP gateway (RFC 7723)'),
  refused('192.0.0.10/32', 'anycast of the nearest TURN relay (RFC 8155)'),
  refused('192.0.0.170/31', 'NAT64 discovery (RFC 7050)'),
  refused('192.0.2.0/24', 'documentation (RFC 5737)'),
  reachable('192.31.196.0/24', 'AS112 (RFC 7535)'),
  reachable('192.52.193.0/24', 'AMT (RFC 7450)'),
  refused('192.88.99.0/24', 'deprecated 6to4 relay anycast (RFC 7526)'),
  refused('192.168.0.0/16', 'private use (RFC 1918)'),
  reachable('192.175.48.0/24', 'AS112 (RFC 7534)'),
  refused('198.18.0.0/15', 'benchmarking (RFC 2544)'),
  refused('198.51.100.0/24', 'documentation (RFC 5737)'),
  refused('203.0.113.0/24', 'documentation (RFC 5737)'),
  refused('224.0.0.0/4', 'multicast (RFC 5771)'),
  refused('240.0.0.0/4', 'reserved (RFC 1112)'),
  refused('255.255.255.255/32', 'limited broadcast (RFC 919)'),

  refused('::/0', 'outside global unicast 2000::/3 (RFC 4291)'),
  refused('::/96', 'deprecated IPv4-compatible address (RFC 4291)'),
  refused('::/128', 'unspecified address (RFC 4291)'),
  refused('::1/128', 'loopback (RFC 4291)'),
  // Judged by the IPv4 address inside.
  reachable('::ffff:0:0/96', 'IPv4-mapped address (RFC 4291)'),
  refused('::ffff:0:0:0/96', 'IPv4-translated address (RFC 2765)'),
  reachable('64:ff9b::/96', 'NAT64 (RFC 6052)'),
  refused('64:ff9b:1::/48', 'NAT64 for local use (RFC 8215)'),
  refused('100::/64', 'discard-only (RFC 6666)'),
  refused('100:0:0:1::/64', 'dummy prefix (RFC 9780)'),
  reachable('2000::/3', 'IPv6 global unicast'),
  refused('2001::/23', 'IETF protocol assignments (RFC 2928)'),
  // Judged by the server's and the client's IPv4 addresses inside.
  reachable('2001::/32', 'Teredo (RFC 4380)'),
  refused('2001:1::1/128', 'anycast of the nearest PCP gateway (RFC 7723)'),
  refused('2001:1::2/128', 'anycast of the nearest TURN relay (RFC 8155)'),
  refused('2001:1::3/128', 'anycast of the nearest SRP registrar (RFC 9665)'),
  refused('2001:2::/48', 'benchmarking (RFC 5180)'),
  reachable('2001:3::/32', 'AMT (RFC 7450)'),
  reachable('2001:4:112::/48', 'AS112 (RFC 7535)'),
  refused('2001:10::/28', 'deprecated ORCHID identifiers (RFC 4843)'),
  refused('2001:20::/28', 'ORCHIDv2 identifiers (RFC 7343)'),
  refused('2001:30::/28', 'drone remote identifiers (RFC 9374)'),
  refused('2001:db8::/32', 'documentation (RFC 3849)'),
  // Judged by the IPv4 address inside.
  reachable('2002::/16', '6to4 (RFC 3056)'),
  reachable('2620:4f:8000::/48', 'AS112 (RFC 7534)'),
  refused('3fff::/20', 'documentation (RFC 9637)'),
  refused('5f00::/16', 'segment routing identifiers (RFC 9602)'),
  refused('fc00::/7', 'unique local (RFC 4193)'),
  refused('fe80::/10', 'link-local (RFC 4291)'),
  refused('fec0::/10', 'deprecated site-local (RFC 3879)'),
  refused('ff00::/8', 'multicast (RFC 4291)'),
];

const bySize = [...SPECIAL_PURPOSE_BLOCKS].sort((a, b) => b.prefixLength - a.prefixLength);

/** Smallest block first, so that the first match decides. */
export const BLOCKS_IPV4 = bySize.filter(({ bytes }) => bytes.length === 4);
export const BLOCKS_IPV6 = bySize.filter(({ bytes }) => bytes.length === 16);
