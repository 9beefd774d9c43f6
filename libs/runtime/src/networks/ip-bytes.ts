import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An address as its bytes in network order: 4 (IPv4) or 16 (IPv6). */
export type IpBytes = readonly number[];

/** A CIDR block: the addresses of the same length whose first `prefixLength` bits are those of `bytes`. */
export interface Block {
  readonly bytes: IpBytes;
  readonly prefixLength: number;
}

const IPV4_COMPATIBLE = /^::(\d{1,3}(?:\.\d{1,3}){3})$/;

/**
 * Reads any spelling that `inet_aton` or RFC 4291 allows (`127.1`, `0x7f000001`, `::FFFF:127.0.0.1`). Returns
 * `undefined` for an address with a zone (`fe80::1%eth0`), which is valid on one machine only.
 */
export function parseIp(text: string): IpBytes | undefined {
  if (!text.includes(':')) return ipaddr.IPv4.isValid(text) ? ipaddr.IPv4.parse(text).toByteArray() : undefined;
  if (text.includes('%') || !isIPv6(text)) return undefined;
  // ipaddr.js reads `::8.8.8.8` as `::ffff:8.8.8.8`, but a socket would connect to `::808:808`.
  const compatible = IPV4_COMPATIBLE.exec(text)?.[1];
  if (compatible !== undefined) return [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ...compatible.split('.').map(Number)];
  return ipaddr.IPv6.isValid(text) ? ipaddr.IPv6.parse(text).toByteArray() : undefined;
}

/** Prints an address in its usual spelling: dotted decimal, or RFC 5952. */
export function formatIp(bytes: IpBytes): string {
  const address = ipaddr.fromByteArray([...bytes]);
  return address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString();
}

/** @returns undefined unless the text is `<address>/<length>`, IPv4 in four decimal parts */
export function parseBlock(text: string): Block | undefined {
  const [address = '', length = '', ...rest] = text.split('/');
  const bytes = address.includes(':') || ipaddr.IPv4.isValidFourPartDecimal(address) ? parseIp(address) : undefined;
  if (bytes === undefined || rest.length > 0 || !/^\d{1,3}$/.test(length)) return undefined;
  const prefixLength = Number(length);
  return prefixLength <= bytes.length * 8 ? { bytes, prefixLength } : undefined;
}

export function contains(block: Block, address: IpBytes): boolean {
  if (block.bytes.length !== address.length) return false;
  for (let bit = 0, at = 0; bit < block.prefixLength; bit += 8, at++) {
    const shift = Math.max(0, 8 - (block.prefixLength - bit));
    if ((block.bytes[at] ?? 0) >> shift !== (address[at] ?? 0) >> shift) return false;
  }
  return true;
}
