import { request as requestHttp, type ClientRequest } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import { errorCode } from '#libs/domain';

/** The proxy cannot be reached, or refuses Gapless. Nothing was sent, and the endpoint is not to blame. */
export class EgressProxyAwayError extends Error {
  override readonly name = 'EgressProxyAwayError';

  /** @param isAnswering whether the proxy answers; if so, an answer alone does not show that it works again */
  constructor(
    message: string,
    readonly isAnswering = false,
  ) {
    super(message);
  }
}

/** The proxy answered, but did not connect to the endpoint. */
export class EgressProxyRefusal extends Error {
  override readonly name = 'EgressProxyRefusal';
}

export interface EgressProxyOptions {
  /** `http:` or `https:`, with user and password if the proxy requires them. */
  readonly url: string;
  /** PEM of the only certificate authorities to trust for the proxy itself, instead of the system's. */
  readonly ca?: string;
  /** How often to probe the proxy while it is away, milliseconds. Default 1 s. */
  readonly probeEveryMs?: number;
  /** How long the proxy may take to answer a probe before it counts as away, milliseconds. Default 5 s. */
  readonly probeTimeoutMs?: number;
  /** Called with the reason when the proxy goes away, and with `null` when it is back. */
  readonly onChange?: (reason: string | null) => void;
}

/** After these statuses, another address of the endpoint may work: bad gateway, unavailable, gateway timeout. */
const UNREACHED = new Set([502, 503, 504]);
/** While the proxy answers but does not work, the interval between probes is this many times as long. */
const ANSWERING_PROBES = 10;

/**
 * The HTTP proxy for all pushes. It connects by `CONNECT` to an address that was checked (contract 6.5). While the
 * proxy is away attempts wait, because the endpoint is not to blame.
 */
export class EgressProxy {
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #waiting = new Set<() => void>();
  #isAway = false;
  /**
   * Whether the next request goes through although the proxy is away: the try may be promised to one that looks its
   * endpoint up again.
   */
  #try: 'none' | 'free' | 'promised' = 'none';
  #timer: NodeJS.Timeout | undefined;
  #asking: Promise<boolean> | undefined;
  #connectAnswers = 0;
  #turns = 0;
  #isClosed = false;

  constructor(private readonly options: EgressProxyOptions) {
    this.#url = new URL(options.url);
    const { username, password } = this.#url;
    const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    this.#headers = username === '' ? {} : { 'proxy-authorization': `Basic ${Buffer.from(user).toString('base64')}` };
  }

  /**
   * Resolves once the proxy is back or should be tried, or the signal is aborted.
   * @param tries whether the caller then tries it, or comes again to do so. While it is away, one does at a time
   * @returns whether it had to wait
   */
  async whenThere(signal: AbortSignal | undefined, tries = true): Promise<boolean> {
    if (!this.#isAway || this.#isClosed || signal?.aborted === true) return false;
    if (this.#try === 'free' || (tries && this.#try === 'promised')) {
      this.#try = tries ? 'none' : 'promised';
      return false;
    }
    await new Promise<void>((resolve) => {
      const go = () => {
        this.#waiting.delete(go);
        signal?.removeEventListener('abort', go);
        resolve();
      };
      this.#waiting.add(go);
      signal?.addEventListener('abort', go, { once: true });
    });
    return true;
  }

  /** Call it when the proxy could not be reached. Later requests wait until it is back. */
  isAway(error: EgressProxyAwayError): void {
    if (this.#isAway || this.#isClosed) return;
    this.#turns++;
    this.#isAway = true;
    this.options.onChange?.(error.message);
    this.#probeLater(error.isAnswering ? ANSWERING_PROBES : 1);
  }

  /**
   * Starts to watch.
   * @returns a function that says whether the proxy has been away since then. `mute`: it was away already, and has
   *   answered no `CONNECT` since
   */
  watch(): () => 'there' | 'was_away' | 'mute' {
    const [wasAway, turns, answers] = [this.#isAway, this.#turns, this.#connectAnswers];
    return () => {
      if (wasAway && this.#connectAnswers === answers) return 'mute';
      return wasAway || this.#turns > turns ? 'was_away' : 'there';
    };
  }

  /**
   * Whether the proxy answers at all. A proxy answers or closes at once if the request is not a `CONNECT`. So this
   * distinguishes a dead or frozen proxy from a dead endpoint.
   */
  answers(): Promise<boolean> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  /**
   * Returns a connection to the first address that the proxy can reach.
   * @throws EgressProxyAwayError, EgressProxyRefusal
   */
  async tunnel(addresses: readonly string[], port: number, signal: AbortSignal): Promise<Socket> {
    let status = 0;
    for (const address of addresses) {
      const answer = await this.#connect(address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`, signal);
      if (typeof answer !== 'number') return answer;
      status = answer;
      if (status === 407)
        throw new EgressProxyAwayError('the egress proxy does not accept the user of EGRESS_PROXY (407)', true);
      if (!UNREACHED.has(status)) break;
    }
    throw new EgressProxyRefusal(`the egress proxy answered ${status}`);
  }

  /** Releases all waiting requests. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#letGo();
  }

  /** @returns the connection, or the status of the proxy's refusal */
  #connect(path: string, signal: AbortSignal): Promise<Socket | number> {
    return new Promise((resolve, reject) => {
      const { request, wasReached } = this.#request('CONNECT', path, path, signal);
      request.once('connect', ({ statusCode = 0 }, socket: Socket, head) => {
        this.#connectAnswers++;
        if (statusCode !== 407) this.#isBack();
        if (statusCode < 200 || statusCode > 299) {
          socket.destroy();
          resolve(statusCode);
          return;
        }
        // In TLS and HTTP the server never sends first.
        if (head.length > 0) {
          socket.destroy();
          reject(new EgressProxyRefusal('the egress proxy sent bytes before it was asked for any'));
          return;
        }
        socket.setNoDelay(true);
        resolve(socket);
      });
      request.once('response', (response) => {
        response.destroy();
        resolve(response.statusCode ?? 0);
      });
      request.once('error', (error) => {
        reject(wasReached() ? new EgressProxyRefusal(refusalOf(error)) : new EgressProxyAwayError(reasonOf(error)));
      });
      request.end();
    });
  }

  #ask(): Promise<boolean> {
    const overdue = AbortSignal.timeout(this.options.probeTimeoutMs ?? 5_000);
    const answersBefore = this.#connectAnswers;
    return new Promise((resolve) => {
      const { request, wasReached } = this.#request('GET', '/', this.#url.host, overdue);
      request.once('response', (response) => {
        response.destroy();
        resolve(true);
      });
      request.once('error', () => {
        resolve((wasReached() && !overdue.aborted) || this.#connectAnswers > answersBefore);
      });
      request.end();
    });
  }

  #request(method: string, path: string, host: string, signal: AbortSignal) {
    const secure = this.#url.protocol === 'https:';
    const { hostname, port } = this.#url;
    let wasReached = false;
    const request: ClientRequest = (secure ? requestHttps : requestHttp)({
      method,
      hostname: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname,
      port: port === '' ? (secure ? 443 : 80) : Number(port),
      path,
      headers: { host, connection: method === 'CONNECT' ? 'keep-alive' : 'close', ...this.#headers },
      agent: false,
      signal,
      ...(this.options.ca === undefined ? {} : { ca: this.options.ca }),
    });
    request.once('socket', (socket) => {
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        wasReached = true;
      });
    });
    return { request, wasReached: () => wasReached };
  }

  #probeLater(probes = 1): void {
    this.#timer = setTimeout(
      () => {
        void this.#probe();
      },
      (this.options.probeEveryMs ?? 1_000) * probes,
    ).unref();
  }

  async #probe(): Promise<void> {
    if (await this.answers()) {
      this.#isBack();
      return;
    }
    if (!this.#isAway || this.#isClosed) return;
    // Let one waiting request try as well: a proxy may answer nothing but `CONNECT`.
    const [first] = this.#waiting;
    this.#try = 'free';
    first?.();
    this.#probeLater();
  }

  #isBack(): void {
    if (!this.#isAway || this.#isClosed) return;
    this.#isAway = false;
    this.#try = 'none';
    clearTimeout(this.#timer);
    this.options.onChange?.(null);
    this.#letGo();
  }

  #letGo(): void {
    for (const go of [...this.#waiting]) go();
  }
}

function refusalOf(error: Error): string {
  const code = errorCode(error);
  return code.startsWith('HPE_')
    ? `the egress proxy did not answer as HTTP: ${code}`
    : 'the egress proxy closed the connection';
}

function reasonOf(error: Error): string {
  const code = errorCode(error);
  return `the egress proxy cannot be reached: ${code === '' ? error.message : code}`;
}
