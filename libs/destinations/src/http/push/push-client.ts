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
   * limit. It sends a request again only if the proxy died during it, or the process stood still before it, and only
   * once.
   */
  post(request: PushRequest): Promise<PushOutcome>;
  /** Like `post`, but a wait for the egress proxy ends it: what is known of the endpoint may be out of date by then. */
  postNow(request: PushRequest): Promise<PostedNow>;
  /**
   * Resolves once the egress proxy is there, or `signal` is aborted. It may go away again before a POST begins.
   * @returns whether it had to wait
   */
  whenThere(signal: AbortSignal): Promise<boolean>;
  /** Takes no more posts, lets those in flight finish, and closes all connections. */
  close(): Promise<void>;
}

/** What became of a request that is sent at once or not at all. */
export type PostedNow =
  | { readonly kind: 'done'; readonly outcome: PushOutcome }
  /** The egress proxy was away, and nothing was sent. Post it again: that waits for the proxy. */
  | { readonly kind: 'waited' }
  /**
   * The egress proxy died during the request, or the process stood still while the connection was made. The request may
   * have arrived.
   */
  | { readonly kind: 'cut'; readonly outcome: PushOutcome };

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

  const postNow = async (request: PushRequest): Promise<PostedNow> => {
    const checked = check(request.url);
    const failedAtOnce = (error: PushError, detail: string): PostedNow => ({
      kind: 'done',
      outcome: { kind: 'failed', error, detail, startedAtMs: clock.now(), durationMs: 0 },
    });
    if (!checked.ok) return failedAtOnce('blocked_address', checked.detail);
    pool ??= await opening;
    const path = checked.url.pathname + checked.url.search;
    const isAborted = () => request.signal?.aborted === true;
    if ((await proxy?.whenThere(request.signal)) === true && !isAborted()) return { kind: 'waited' };
    const acquired = pool.acquire(checked.url, checked.host, request.signal, request.identity);
    if (acquired.kind === 'refused') return failedAtOnce('connect', acquired.reason);
    const { connection } = acquired;
    const proxyState = proxy?.watch();
    const { outcome, reusable, wasSent, proxyAway, stoodStill } = await exchange(connection, path, request, clock);
    pool.release(connection, reusable);
    const done = { kind: 'done', outcome } as const;
    // It tried a proxy that still answers nothing. However often that happens, the endpoint is not to blame.
    if (!wasSent && proxyState?.() === 'mute' && mayBeProxy(outcome) && !isAborted()) return { kind: 'waited' };
    if (stoodStill === true) return isAborted() ? done : { kind: 'cut', outcome };
    if (proxy === undefined || proxyState === undefined || !mayBeProxy(outcome)) return done;
    if (proxyAway !== undefined) proxy.isAway(proxyAway);
    else if (!(await proxy.answers())) proxy.isAway(new EgressProxyAwayError('the egress proxy does not answer'));
    if (proxyState() === 'there' || isAborted()) return done;
    return proxyAway === undefined ? { kind: 'cut', outcome } : { kind: 'waited' };
  };

  return {
    async post(request) {
      let cuts = 0;
      for (;;) {
        const posted = await postNow(request);
        if (posted.kind === 'done' || (posted.kind === 'cut' && cuts++ > 0)) return posted.outcome;
      }
    },
    postNow,
    whenThere: (signal) => proxy?.whenThere(signal, false) ?? Promise.resolve(false),
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
