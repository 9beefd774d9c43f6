import type { Network } from '#libs/runtime';
import { classifyAddress } from './addresses/index.js';
import { allowedLoopback, checkEndpointUrl, isLocalhost } from './endpoint-url.js';
import type { EndpointHost, EndpointUrlErrorCode, EndpointUrlRules } from './endpoint-url.js';
import type { Resolver } from './resolver.js';

/** The addresses to connect to for a host. Only these were checked, so use no others. */
export type EndpointAddresses =
  | { readonly kind: 'ok'; readonly addresses: readonly string[] }
  | { readonly kind: 'refused'; readonly address: string; readonly reason: string }
  | { readonly kind: 'unresolvable'; readonly detail: string };

/**
 * A name with more addresses counts as one without any. Its owner decides how many there are, and an answer has room for
 * thousands. Node compares each with all others and tries them in turn, on the thread that pushes for all.
 */
const MAX_ADDRESSES = 64;

async function addressesOf(host: EndpointHost, resolver: Resolver, allowedNetworks: readonly Network[]) {
  if (host.kind === 'ip') return { kind: 'resolved', addresses: [host.address] } as const;
  // Do not ask a name server for localhost: it could answer with any address.
  if (isLocalhost(host.name)) return { kind: 'resolved', addresses: allowedLoopback(allowedNetworks) } as const;
  return resolver.resolve(host.name);
}

/** Looks a host up once and checks *all* its addresses. If one is refused, the host is refused (contract 6.5). */
export async function resolveEndpointAddress(
  host: EndpointHost,
  resolver: Resolver,
  allowedNetworks: readonly Network[],
  deniedNetworks: readonly Network[] = [],
): Promise<EndpointAddresses> {
  const resolution = await addressesOf(host, resolver, allowedNetworks);
  if (resolution.kind === 'unresolvable') return resolution;
  if (resolution.addresses.length > MAX_ADDRESSES) {
    return { kind: 'unresolvable', detail: `the name has more than ${MAX_ADDRESSES} addresses` };
  }
  for (const address of resolution.addresses) {
    const verdict = classifyAddress(address, allowedNetworks, deniedNetworks);
    if (verdict.kind === 'refused') return { kind: 'refused', address, reason: verdict.reason };
  }
  if (resolution.addresses.length === 0) return { kind: 'unresolvable', detail: 'the name has no address' };
  return { kind: 'ok', addresses: resolution.addresses };
}

export type EndpointAddressCheck =
  | { readonly ok: true; readonly url: URL }
  | { readonly ok: false; readonly code: EndpointUrlErrorCode | 'url_unresolvable'; readonly detail: string };

/**
 * Does not say which address was refused. Otherwise anyone who registers endpoints could learn the names and addresses
 * of an internal name server (contract 6.5).
 */
const NO_PUBLIC_ADDRESS = `The host name has no public address, or more than ${MAX_ADDRESSES} addresses. Check its spelling, and that all of its addresses can be reached from the internet.`;

/**
 * Checks a url at registration and at PATCH: its text, then the addresses of its host. Never rejects. If the operator
 * allows private networks, the answer says which address is refused and why.
 */
export async function checkEndpointAddress(
  text: string,
  { resolver, ...rules }: EndpointUrlRules & { readonly resolver: Resolver },
): Promise<EndpointAddressCheck> {
  const check = checkEndpointUrl(text, rules);
  if (!check.ok) return check;
  const found = await resolveEndpointAddress(check.host, resolver, rules.allowedNetworks, rules.deniedNetworks);
  const isOpen = check.host.kind === 'ip' || rules.allowedNetworks.length > 0;
  if (found.kind !== 'ok' && !isOpen) return { ok: false, code: 'url_unresolvable', detail: NO_PUBLIC_ADDRESS };
  switch (found.kind) {
    case 'ok':
      return { ok: true, url: check.url };
    case 'refused':
      return {
        ok: false,
        code: 'url_private_network',
        detail: `the host has an address that is not public: ${found.reason}`,
      };
    case 'unresolvable':
      return { ok: false, code: 'url_unresolvable', detail: found.detail };
  }
}
