import { lookup, Resolver as DnsResolver } from 'node:dns/promises';
import { errorCode } from './error-code.js';

/** The addresses of a name, never none of them; or why there are none, in words for the endpoint's owner. */
export type Resolution =
  | { readonly kind: 'resolved'; readonly addresses: readonly string[] }
  | { readonly kind: 'unresolvable'; readonly detail: string };

/** Asks for the addresses of a name, afresh each time. Never rejects. */
export interface Resolver {
  resolve(name: string): Promise<Resolution>;
}

export interface ResolverOptions {
  /** `ip:port` (`[ip]:port`) of the name servers to ask (`DNS_SERVERS`); none: whatever the system does. */
  readonly dnsServers?: readonly string[];
  /** How long a look-up may take in all, milliseconds. */
  readonly timeoutMs: number;
}

/** Within the time limit each server is asked this often: one lost datagram must not fail a delivery. */
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

/** Both families at once; one of them is enough. */
async function askServers(name: string, servers: readonly string[], timeoutMs: number): Promise<Resolution> {
  // A resolver of its own for each look-up: nothing is cached, and cancelling it cancels nothing else.
  const resolver = new DnsResolver({ timeout: Math.max(1, Math.floor(timeoutMs / (TRIES + 1))), tries: TRIES });
  resolver.setServers(servers);
  const timer = setTimeout(() => {
    resolver.cancel();
  }, timeoutMs);
  const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  clearTimeout(timer);
  // IPv4 first: it is tried first, and more hosts reach it.
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
