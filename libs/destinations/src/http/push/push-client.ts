import type { Clock } from '#libs/domain';
import { checkEndpointUrl, type EndpointUrlCheck, type EndpointUrlRules } from '../endpoint-url.js';
import type { Resolver } from '../resolver.js';
import type { ConnectionPool } from './connection-pool.js';
import { EgressProxy, EgressProxyAwayError, type EgressProxyOptions } from './egress-proxy.js';
import { exchange } from './exchange.js';
import type { PushError, PushOutcome, PushRequest } from './push-attempt.js';

export interface PushClient {
  /**
   * Sends one POST and follows no redirect. Never rejects. Resolves when the answer's body has ended, has reached 16 KiB, or
   * the time is over. While the egress proxy is away, it waits: that is not part of the time limit. What was on its way
   * through a proxy that has died is sent again; nothing else ever is.
   */
  post(request: PushRequest): Promise<PushOutcome>;
  /** Takes no more posts, lets those in flight end, and closes all connections. */
  close(): Promise<void>;
}

export interface PushClientOptions extends EndpointUrlRules {
  readonly resolver: Resolver;
  readonly clock: Clock;
  /** PEM of the only certificate authorities to trust, in place of the system's. */
  readonly ca?: string | undefined;
  /**
   * Posts beyond this many at one origin wait for a connection, in order; waiting is not part of the time limit.
   * Default 256.
   */
  readonly maxConnectionsPerOrigin?: number | undefined;
  /**
   * A connection is not used again when it is older than this, milliseconds, so that a changed name takes effect:
   * addresses are checked when a connection is opened. Default 2 minutes.
   */
  readonly maxConnectionAgeMs?: number | undefined;
  /** Default: none, and nothing in the environment of the process makes one. */
  readonly egressProxy?: EgressProxyOptions | undefined;
}

/** Urls whose check is remembered; what a name stands for is looked up with each connection. */
const REMEMBERED_CHECKS = 10_000;

export function createPushClient(options: PushClientOptions): PushClient {
  const { clock, maxConnectionsPerOrigin = 256, maxConnectionAgeMs = 120_000 } = options;
  const proxy = options.egressProxy === undefined ? undefined : new EgressProxy(options.egressProxy);
  let pool: ConnectionPool | undefined;
  // With it comes undici: who only looks at addresses or headers need not hold that in memory.
  const opening = import('./connection-pool.js').then(
    ({ ConnectionPool }) => new ConnectionPool({ ...options, proxy, maxConnectionsPerOrigin, maxConnectionAgeMs }),
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
        const acquired = await pool.acquire(checked.url, checked.host, request.signal);
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

/** Whether a proxy that is dead or frozen looks like this, too. */
function mayBeProxy(outcome: PushOutcome): boolean {
  return outcome.kind === 'failed' && (outcome.error === 'timeout' || outcome.error === 'connect');
}
