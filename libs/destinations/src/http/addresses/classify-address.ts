import { contains, networkOf, parseIp, type IpBytes, type Network } from '#libs/runtime';
import { embeddedIpv4 } from './embedded-ipv4.js';
import { BLOCKS_IPV4, BLOCKS_IPV6 } from './special-purpose-blocks.js';

/** Whether a webhook may be sent to an address (contract 6.5). */
export type AddressClass =
  | { readonly kind: 'public' }
  /** The address is not public, but the configuration allows it. */
  | { readonly kind: 'allowed'; readonly network: Network }
  | Refusal;

export interface Refusal {
  readonly kind: 'refused';
  /** The CIDR block that decided; empty if the text is not an address. */
  readonly block: string;
  readonly reason: string;
}

const PUBLIC: AddressClass = { kind: 'public' };

/** Why an address is refused. Its embedded IPv4 addresses are judged first. */
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
 * Judges one address. Refuses every address that is not globally reachable unicast, with these exceptions:
 *
 * An allowed network allows the addresses in it, also in IPv4-mapped form. It does not allow tunnels to them (NAT64,
 * 6to4, Teredo, ISATAP), because a tunnel leads to the same digits in *another* network. A tunnel address passes if its
 * IPv4 addresses are public, or if an allowed IPv6 network holds the whole address.
 *
 * A denied network refuses its addresses and every form that embeds one, even if an allowed network holds them too.
 *
 * @param address any spelling, or 4 or 16 bytes; anything else is refused
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
