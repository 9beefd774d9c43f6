import { formatIp, networkOf, parseIp, type IpBytes, type Network } from '#libs/runtime';

const MAPPED = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255];

/** Providers assign whole networks of this length, so one caller has many addresses. */
const IPV6_NETWORK_BYTES = 8;

/** Parses `203.0.113.7`, `203.0.113.7:4711`, `2001:db8::7`, `[2001:db8::7]:4711`, and mapped IPv4 addresses. */
function parseHop(text: string): IpBytes | undefined {
  const trimmed = text.trim();
  const [, bracketed = trimmed] = /^\[([^\]]+)\](?::\d+)?$/.exec(trimmed) ?? [];
  const bytes = parseIp(bracketed.replace(/^(\d+(?:\.\d+){3}):\d+$/, '$1'));
  return bytes?.length === 16 && MAPPED.every((byte, at) => bytes[at] === byte) ? bytes.slice(12) : bytes;
}

/** Whether the other end of the connection is one of the proxies. */
export function isProxy(peer: string | undefined, proxies: readonly Network[]): boolean {
  const bytes = peer === undefined ? undefined : parseHop(peer);
  return bytes !== undefined && networkOf(bytes, proxies) !== undefined;
}

/**
 * Returns the address of the caller. Each proxy appends the address that called it, so the last one that is not one of
 * our proxies is the caller's. Earlier ones may be invented.
 * @param peer the other end of the connection
 * @param forwardedFor `X-Forwarded-For`, which counts only if the peer is one of `proxies`
 */
export function callerAddress(
  peer: string | undefined,
  forwardedFor: string | undefined,
  proxies: readonly Network[],
): string {
  const hops = [...(forwardedFor?.split(',') ?? []), peer ?? ''].toReversed();
  let caller = 'unknown';
  for (const hop of hops) {
    const bytes = parseHop(hop);
    if (bytes === undefined) break;
    caller = formatIp(bytes);
    if (networkOf(bytes, proxies) === undefined) break;
  }
  return caller;
}

/** Returns the unit by which callers are counted: the IPv4 address, or the network of an IPv6 address. */
export function networkOfCaller(address: string): string {
  const bytes = parseIp(address);
  if (bytes?.length !== 16) return address;
  return formatIp(bytes.map((byte, at) => (at < IPV6_NETWORK_BYTES ? byte : 0)));
}
