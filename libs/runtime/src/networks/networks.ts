import { contains, parseBlock, type Block, type IpBytes } from './ip-bytes.js';

/** One entry of `ALLOWED_PRIVATE_NETWORKS`, `DENIED_NETWORKS` or `TRUSTED_PROXIES`. */
export interface Network extends Block {
  /** The entry as written: `10.0.0.0/8`. */
  readonly cidr: string;
}

/** `::ffff:127.0.0.0/104` means 127.0.0.0/8: mapped addresses are compared as IPv4. */
function unmapped({ bytes, prefixLength }: Block): Block {
  const mapped: Block = { bytes: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 0, 0], prefixLength: 96 };
  return prefixLength >= 96 && contains(mapped, bytes)
    ? { bytes: bytes.slice(12), prefixLength: prefixLength - 96 }
    : { bytes, prefixLength };
}

/**
 * Reads `127.0.0.0/8, ::1/128`; an empty text gives no networks. Bits after the prefix are ignored (`127.0.0.1/8`).
 * @throws RangeError that names the entry that is not a CIDR block
 */
export function parseNetworks(text: string): Network[] {
  if (text.trim() === '') return [];
  return text.split(',').map((entry) => {
    const cidr = entry.trim();
    const block = parseBlock(cidr);
    if (block === undefined) throw new RangeError(`not a CIDR block such as 10.0.0.0/8 or fd00::/8: "${cidr}"`);
    return { cidr, ...unmapped(block) };
  });
}

/** Returns the first network that holds the address. */
export function networkOf(address: IpBytes, networks: readonly Network[]): Network | undefined {
  return networks.find((network) => contains(network, address));
}
