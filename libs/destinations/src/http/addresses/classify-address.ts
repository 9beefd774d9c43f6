import { embeddedIpv4 } from './embedded-ipv4.js';
import { contains, parseIp, type IpBytes } from './ip-bytes.js';
import { networkOf, type Network } from './networks.js';
import { BLOCKS_IPV4, BLOCKS_IPV6 } from './special-purpose-blocks.js';

/** Whether a webhook may be sent to an address (contract 6.5). */
export type AddressClass =
  | { readonly kind: 'public' }
  /** Not public, but the configuration lets it through. */
  | { readonly kind: 'allowed'; readonly network: Network }
  | Refusal;

export interface Refusal {
  readonly kind: 'refused';
  /** The CIDR block that decided; empty for what is not an address. */
  readonly block: string;
  readonly reason: string;
}

const PUBLIC: AddressClass = { kind: 'public' };

/** The refusal of an address, its embedded IPv4 addresses judged first. */
function refusalOf(address: IpBytes): Refusal | undefined {
  for (const { form, bytes } of embeddedIpv4(address)) {
    const inner = refusalOf(bytes);
    if (inner !== undefined) return { ...inner, reason: `${form} form of: ${inner.reason}` };
  }
  const blocks = address.length === 4 ? BLOCKS_IPV4 : BLOCKS_IPV6;
  const block = blocks.find((candidate) => contains(candidate, address));
  if (block?.reachable === true) return undefined;
  return { kind: 'refused', block: block?.cidr ?? '', reason: block?.reason ?? 'not an address' };
}

/** The denied network that holds the address or an IPv4 address inside it. */
function deniedBy(address: IpBytes, deniedNetworks: readonly Network[]): Network | undefined {
  if (deniedNetworks.length === 0) return undefined;
  return (
    networkOf(address, deniedNetworks) ??
    embeddedIpv4(address)
      .map(({ bytes }) => deniedBy(bytes, deniedNetworks))
      .find((network) => network !== undefined)
  );
}

/**
 * Judges one address: anything that is not globally reachable unicast is refused.
 *
 * An allowed network lets through the addresses in it, in their IPv4-mapped spelling too. It does not let through a
 * tunnel to them (NAT64, 6to4, Teredo, ISATAP): that leads to the address of the same digits in *another* network. Such
 * a form passes if the IPv4 addresses inside are public, or if an allowed IPv6 network holds the whole address.
 *
 * A denied network refuses the addresses in it, and every form that carries one of them, even if an allowed network holds
 * them too.
 *
 * @param address any spelling, or 4 or 16 bytes; what is no address is refused
 */
export function classifyAddress(
  address: string | IpBytes,
  allowedNetworks: readonly Network[],
  deniedNetworks: readonly Network[] = [],
): AddressClass {
  const bytes = typeof address === 'string' ? parseIp(address) : address;
  if (bytes === undefined || (bytes.length !== 4 && bytes.length !== 16)) {
    return { kind: 'refused', block: '', reason: 'not an address' };
  }
  const denied = deniedBy(bytes, deniedNetworks);
  if (denied !== undefined) return { kind: 'refused', block: denied.cidr, reason: 'denied by the operator' };
  const refusal = refusalOf(bytes);
  if (refusal === undefined) return PUBLIC;
  const [embedded] = embeddedIpv4(bytes);
  const plain = embedded?.form === 'IPv4-mapped' ? embedded.bytes : bytes;
  const network = networkOf(plain, allowedNetworks);
  return network === undefined ? refusal : { kind: 'allowed', network };
}
