import type { Clock } from '#libs/domain';
import { checkEndpointUrl, type EndpointUrlCheck, type EndpointUrlRules } from '../endpoint-url.js';
import type { Resolver } from '../resolver.js';
import type { ConnectionPool } from './connection-pool.js';
import { EgressProxy, EgressProxyAwayError, type EgressProxyOptions } from '../proxy/egress-proxy.js';
import { exchange } from './exchange.js';
import type { PushError, PushOutcome, PushRequest } from './push-attempt.js';

export interface PushClient {
  /**
   * Sends one POST and follows no redirect. Never rejects. Resolves when the answer's body has ended, has reached 16
   * KiB, or the time is over. While the egress proxy is away, the POST waits, which does not count towards the time
   * limit. It sends a request again only if the proxy died during it.
   */
  post(request: PushRequest): Promise<PushOutcome>;
  /** Takes no more posts, lets those in flight finish, and closes all connections. */
  close(): Promise<void>;
}

export interface PushClientOptions extends EndpointUrlRules {
  readonly resolver: Resolver;
  readonly clock: Clock;
  /** PEM of the only certificate authorities to trust, instead of the system's. */
  readonly ca?: string | undefined;
  /**
   * A connection older than this is not used again, milliseconds. So a changed name takes effect, because addresses are
   * checked when a connection is opened. Default 2 minutes.
   */
  readonly maxConnectionAgeMs?: number | undefined;
  /** The proxy for all pushes. Default: none, even if the environment names one. */
  readonly egressProxy?: EgressProxyOptions | undefined;
}

/** The number of urls whose check is cached. Each connection still looks the name up. */
const REMEMBERED_CHECKS = 10_000;

export function createPushClient(options: PushClientOptions): PushClient {
  const { clock, maxConnectionAgeMs = 120_000 } = options;
  const proxy = options.egressProxy === undefined ? undefined : new EgressProxy(options.egressProxy);
  let pool: ConnectionPool | undefined;
  // Load undici on demand: processes that only check addresses or make headers do not need it in memory.
  const opening = import('./connection-pool.js').then(
    ({ ConnectionPool }) => new ConnectionPool({ ...options, proxy, maxConnectionAgeMs }),
  );
  const checks = new Map<string, EndpointUrlCheck>();
  const check = (url: string) => {
    let known = checks.get(url);
    if (known === undefined) {
      if (checks.size >= REMEMBERED_CHECKS) checks.clear();
      known = checkEndpointUrl(url, options);
      checks.set(url, known);
    }
    return known;
  };

  return {
    async post(request) {
      const checked = check(request.url);
      const failedAtOnce = (error: PushError, detail: string): PushOutcome => ({
        kind: 'failed',
        error,
        detail,
        startedAtMs: clock.now(),
        durationMs: 0,
      });
      if (!checked.ok) return failedAtOnce('blocked_address', checked.detail);
      pool ??= await opening;
      const path = checked.url.pathname + checked.url.search;
      for (;;) {
        await proxy?.whenThere(request.signal);
        const acquired = pool.acquire(checked.url, checked.host, request.signal, request.identity);
        if (acquired.kind === 'refused') return failedAtOnce('connect', acquired.reason);
        const { connection } = acquired;
        const hasBeenAway = proxy?.watch();
        const { outcome, reusable, proxyAway } = await exchange(connection, path, request, clock);
        pool.release(connection, reusable);
        if (proxy === undefined || hasBeenAway === undefined || !mayBeProxy(outcome)) return outcome;
        if (proxyAway !== undefined) proxy.isAway(proxyAway);
        else if (!(await proxy.answers())) proxy.isAway(new EgressProxyAwayError('the egress proxy does not answer'));
        if (!hasBeenAway() || request.signal?.aborted === true) return outcome;
      }
    },
    close: async () => {
      proxy?.close();
      await (await opening).close();
    },
  };
}

/** Whether a dead or frozen proxy could cause this outcome, too. */
function mayBeProxy(outcome: PushOutcome): boolean {
  return outcome.kind === 'failed' && (outcome.error === 'timeout' || outcome.error === 'connect');
}
