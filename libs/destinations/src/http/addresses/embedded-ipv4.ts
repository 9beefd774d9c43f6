import type { IpBytes } from '#libs/runtime';

/** An IPv4 address inside an IPv6 address, and the form that puts it there. */
export interface EmbeddedIpv4 {
  readonly form: 'IPv4-mapped' | 'IPv4-compatible' | 'IPv4-translated' | 'NAT64' | '6to4' | 'Teredo' | 'ISATAP';
  readonly bytes: IpBytes;
}

function startsWith(bytes: IpBytes, ...groups: readonly number[]): boolean {
  return groups.every((group, i) => (((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0)) === group);
}

/**
 * Returns every IPv4 address that a packet to this IPv6 address can reach. There can be several. Teredo holds its
 * server and (obfuscated, RFC 4380) its client, and any prefix can end in an ISATAP interface id (RFC 5214).
 */
export function embeddedIpv4(bytes: IpBytes): readonly EmbeddedIpv4[] {
  if (bytes.length !== 16) return [];
  const last = bytes.slice(12);
  if (startsWith(bytes, 0, 0, 0, 0, 0, 0xffff)) return [{ form: 'IPv4-mapped', bytes: last }];
  if (startsWith(bytes, 0, 0, 0, 0, 0xffff, 0)) return [{ form: 'IPv4-translated', bytes: last }];
  // :: and ::1 are not IPv4-compatible addresses (RFC 4291, section 2.5.5.1).
  if (startsWith(bytes, 0, 0, 0, 0, 0, 0, 0) && (bytes[14] ?? 0) === 0 && (bytes[15] ?? 0) < 2) return [];
  if (startsWith(bytes, 0, 0, 0, 0, 0, 0)) return [{ form: 'IPv4-compatible', bytes: last }];
  if (startsWith(bytes, 0x64, 0xff9b, 0, 0, 0, 0)) return [{ form: 'NAT64', bytes: last }];
  const found: EmbeddedIpv4[] = [];
  if (startsWith(bytes, 0x2002)) found.push({ form: '6to4', bytes: bytes.slice(2, 6) });
  if (startsWith(bytes, 0x2001, 0)) {
    found.push({ form: 'Teredo', bytes: bytes.slice(4, 8) });
    found.push({ form: 'Teredo', bytes: last.map((byte) => byte ^ 0xff) });
  }
  // 0200:5efe is the same interface id with the universal bit set.
  if ((bytes[8] === 0 || bytes[8] === 2) && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe) {
    found.push({ form: 'ISATAP', bytes: last });
  }
  return found;
}
