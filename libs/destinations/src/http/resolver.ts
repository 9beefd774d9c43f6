import { lookup, Resolver as DnsResolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { errorCode } from '#libs/domain';

/** The addresses of a name, at least one; or why there are none, in words for the endpoint's owner. */
export type Resolution =
  | { readonly kind: 'resolved'; readonly addresses: readonly string[] }
  | { readonly kind: 'unresolvable'; readonly detail: string };

/** Looks up the addresses of a name, without a cache. Never rejects. */
export interface Resolver {
  resolve(name: string): Promise<Resolution>;
}

export interface ResolverOptions {
  /** The name servers to ask (`DNS_SERVERS`), as `ip:port` (`[ip]:port`). If empty, those of the system are asked. */
  readonly dnsServers?: readonly string[];
  /** The name servers of the system; by default those that it is set to. */
  readonly systemServers?: readonly string[];
  /** The time limit of a whole look-up, milliseconds. */
  readonly timeoutMs: number;
}

/** Each server is asked at least so often within the time limit: one lost datagram must not fail a delivery. */
const TRIES = 2;
/**
 * The longest time for the first answer of a server, before the next one is asked, milliseconds. It doubles with each try. Nothing
 * remembers a server that never answers, so each look-up waits that long for it.
 */
const FIRST_ANSWER_MS = 500;
/** How long to wait for IPv6 addresses after IPv4 ones have come: some name servers never answer for IPv6. */
const IPV6_LATER_MS = 500;

const NO_ADDRESS = 'the name has no address';
const NOT_IN_TIME = 'the name servers did not answer in time';
const UNREACHED = 'the name servers cannot be reached';

function detailOf(error: unknown): string {
  switch (errorCode(error)) {
    case 'ENOTFOUND':
    case 'ENODATA':
    case 'ENONAME':
      return NO_ADDRESS;
    case 'ETIMEOUT':
    case 'ECANCELLED':
      return NOT_IN_TIME;
    case 'ECONNREFUSED':
      return UNREACHED;
    case 'ESERVFAIL':
    case 'EREFUSED':
    case 'EAI_AGAIN':
      return 'the name servers could not answer';
    default:
      return 'the name could not be looked up';
  }
}

/**
 * Asks for IPv4 and IPv6 at once. IPv4 is enough, and so is IPv6 if there is no IPv4.
 * @param servers `undefined` for those that the system is set to
 */
async function askServers(
  name: string,
  servers: readonly string[] | undefined,
  timeoutMs: number,
): Promise<Resolution> {
  // Each look-up has its own resolver, so that nothing is cached and a cancel affects this look-up alone.
  const firstMs = Math.max(1, Math.min(FIRST_ANSWER_MS, Math.floor(timeoutMs / (TRIES + 1))));
  const resolver = new DnsResolver({ timeout: firstMs, tries: Math.ceil(Math.log2(timeoutMs / firstMs + 1)) });
  if (servers !== undefined) resolver.setServers(servers);
  const timers: NodeJS.Timeout[] = [];
  const cancelAfter = (ms: number) => {
    timers.push(
      setTimeout(() => {
        resolver.cancel();
      }, ms),
    );
  };
  cancelAfter(timeoutMs);
  const askIpv4 = resolver.resolve4(name).then((found) => {
    cancelAfter(IPV6_LATER_MS);
    return found;
  });
  const [ipv4, ipv6] = await Promise.allSettled([askIpv4, resolver.resolve6(name)]);
  for (const timer of timers) clearTimeout(timer);
  // IPv4 comes first, because more hosts can reach it.
  const addresses = [ipv4, ipv6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length > 0) return { kind: 'resolved', addresses };
  return { kind: 'unresolvable', detail: detailOf(ipv4.status === 'rejected' ? ipv4.reason : undefined) };
}

/**
 * Asks the name servers of the system, as its own resolver does, but without it: `getaddrinfo` blocks a thread, and Node has
 * two for it. A few names whose servers do not answer would keep all others waiting. So it is only asked about names that
 * the system knows by itself, and those that its name servers do not know: it may know a search domain.
 */
async function askSystem(name: string, servers: readonly string[] | undefined, timeoutMs: number): Promise<Resolution> {
  const beganAt = performance.now();
  if (await isInHosts(name)) return inTime(getAddresses(name), timeoutMs);
  const answer = await askServers(name, servers, timeoutMs);
  if (answer.kind === 'resolved' || (answer.detail !== NO_ADDRESS && answer.detail !== UNREACHED)) return answer;
  let isOver = false;
  const asked = lastInTurn.then(() => (isOver ? answer : getAddresses(name)));
  lastInTurn = asked;
  const leftMs = timeoutMs - (performance.now() - beganAt);
  return inTime(asked, leftMs).finally(() => {
    isOver = true;
  });
}

/** The last look-up of a name that the name servers do not know. There is one at a time, so that others have a thread. */
let lastInTurn: Promise<unknown> = Promise.resolve();

async function isInHosts(name: string): Promise<boolean> {
  const hosts = await readFile('/etc/hosts', 'utf8').catch(() => '');
  return hosts.toLowerCase().split(/\s+/).includes(name);
}

/** Asks the system's resolver. Never rejects. */
async function getAddresses(name: string): Promise<Resolution> {
  try {
    const found = await lookup(name, { all: true, order: 'ipv4first' });
    if (found.length > 0) return { kind: 'resolved', addresses: found.map(({ address }) => address) };
    return { kind: 'unresolvable', detail: NO_ADDRESS };
  } catch (error) {
    return { kind: 'unresolvable', detail: detailOf(error) };
  }
}

async function inTime(answer: Promise<Resolution>, timeoutMs: number): Promise<Resolution> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<Resolution>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, { kind: 'unresolvable', detail: NOT_IN_TIME } satisfies Resolution);
  });
  const resolution = await Promise.race([answer, timeout]);
  clearTimeout(timer);
  return resolution;
}

/** @throws Error if a name server is not an `ip:port` */
export function createResolver({ dnsServers = [], systemServers, timeoutMs }: ResolverOptions): Resolver {
  if (dnsServers.length === 0) return { resolve: (name) => askSystem(name, systemServers, timeoutMs) };
  new DnsResolver().setServers(dnsServers);
  return { resolve: (name) => askServers(name, dnsServers, timeoutMs) };
}
