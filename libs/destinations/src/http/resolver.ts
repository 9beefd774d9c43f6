import { lookup, Resolver as DnsResolver } from 'node:dns/promises';
import { errorCode } from './error-code.js';

/** The addresses of a name, at least one; or why there are none, in words for the endpoint's owner. */
export type Resolution =
  | { readonly kind: 'resolved'; readonly addresses: readonly string[] }
  | { readonly kind: 'unresolvable'; readonly detail: string };

/** Looks up the addresses of a name, without a cache. Never rejects. */
export interface Resolver {
  resolve(name: string): Promise<Resolution>;
}

export interface ResolverOptions {
  /** The name servers to ask (`DNS_SERVERS`), as `ip:port` (`[ip]:port`). If empty, the system's resolver is used. */
  readonly dnsServers?: readonly string[];
  /** The time limit of a whole look-up, milliseconds. */
  readonly timeoutMs: number;
}

/** How often to ask each server within the time limit, so that one lost datagram does not fail a delivery. */
const TRIES = 2;

function detailOf(error: unknown): string {
  switch (errorCode(error)) {
    case 'ENOTFOUND':
    case 'ENODATA':
    case 'ENONAME':
      return 'the name has no address';
    case 'ETIMEOUT':
    case 'ECANCELLED':
      return 'the name servers did not answer in time';
    case 'ESERVFAIL':
    case 'EREFUSED':
    case 'EAI_AGAIN':
      return 'the name servers could not answer';
    default:
      return 'the name could not be looked up';
  }
}

/** Asks for IPv4 and IPv6 at once; one of them is enough. */
async function askServers(name: string, servers: readonly string[], timeoutMs: number): Promise<Resolution> {
  // Each look-up has its own resolver, so that nothing is cached and a cancel affects this look-up alone.
  const resolver = new DnsResolver({ timeout: Math.max(1, Math.floor(timeoutMs / (TRIES + 1))), tries: TRIES });
  resolver.setServers(servers);
  const timer = setTimeout(() => {
    resolver.cancel();
  }, timeoutMs);
  const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  clearTimeout(timer);
  // IPv4 comes first, because more hosts can reach it.
  const addresses = [ipv4, ipv6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length > 0) return { kind: 'resolved', addresses };
  return { kind: 'unresolvable', detail: detailOf(ipv4.status === 'rejected' ? ipv4.reason : undefined) };
}

async function askSystem(name: string, timeoutMs: number): Promise<Resolution> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<Resolution>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, {
      kind: 'unresolvable',
      detail: 'the name servers did not answer in time',
    } satisfies Resolution);
  });
  const answer = lookup(name, { all: true, order: 'ipv4first' } as const).then(
    (found): Resolution =>
      found.length > 0
        ? { kind: 'resolved', addresses: found.map(({ address }) => address) }
        : { kind: 'unresolvable', detail: 'the name has no address' },
    (error: unknown): Resolution => ({ kind: 'unresolvable', detail: detailOf(error) }),
  );
  const resolution = await Promise.race([answer, timeout]);
  clearTimeout(timer);
  return resolution;
}

/** @throws Error if a name server is not an `ip:port` */
export function createResolver({ dnsServers = [], timeoutMs }: ResolverOptions): Resolver {
  if (dnsServers.length === 0) return { resolve: (name) => askSystem(name, timeoutMs) };
  new DnsResolver().setServers(dnsServers);
  return { resolve: (name) => askServers(name, dnsServers, timeoutMs) };
}
