import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { errorCode } from '../error-code.js';

/** The proxy cannot be reached, or does not accept us: nothing was sent to the endpoint, which is not to blame. */
export class EgressProxyAwayError extends Error {
  override readonly name = 'EgressProxyAwayError';

  /** @param isReached whether the proxy can be connected to, so that connecting does not show that it is back */
  constructor(
    message: string,
    readonly isReached = false,
  ) {
    super(message);
  }
}

/** The proxy was reached and made no connection to the endpoint. */
export class EgressProxyRefusal extends Error {
  override readonly name = 'EgressProxyRefusal';
}

export interface EgressProxyOptions {
  /** `http:` or `https:`, with user and password if the proxy wants them. */
  readonly url: string;
  /** PEM of the only certificate authorities to trust for the proxy itself, in place of the system's. */
  readonly ca?: string;
  /** How often it is tried while it cannot be reached, milliseconds. Default 1 s. */
  readonly probeEveryMs?: number;
  /** Called when it cannot be reached, with the reason, and with `null` when it can be again. */
  readonly onChange?: (reason: string | null) => void;
}

/** Another of the endpoint's addresses may work after these: bad gateway, unavailable, gateway timeout. */
const UNREACHED = new Set([502, 503, 504]);
const PROBE_MS = 5_000;
/** A proxy that can be connected to, and is no help, is tried less often. */
const REACHED_PROBES = 10;

/**
 * An HTTP proxy that all pushes go through, by `CONNECT` to an address that was checked (contract 6.5). An endpoint is not
 * to blame when its operator's proxy is away: attempts wait until it is back.
 */
export class EgressProxy {
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #waiting = new Set<() => void>();
  #isAway = false;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(private readonly options: EgressProxyOptions) {
    this.#url = new URL(options.url);
    const { username, password } = this.#url;
    const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    this.#headers = username === '' ? {} : { 'proxy-authorization': `Basic ${Buffer.from(user).toString('base64')}` };
  }

  get #trust() {
    return this.options.ca === undefined ? {} : { ca: this.options.ca };
  }

  /** Resolves once it can be reached, as far as is known, or the signal is aborted. */
  async whenThere(signal: AbortSignal | undefined): Promise<void> {
    while (this.#isAway && !this.#isClosed && signal?.aborted !== true) {
      await new Promise<void>((resolve) => {
        const go = () => {
          this.#waiting.delete(go);
          signal?.removeEventListener('abort', go);
          resolve();
        };
        this.#waiting.add(go);
        signal?.addEventListener('abort', go, { once: true });
      });
    }
  }

  /** To be called when it could not be reached: who asks from now on waits until it is back. */
  isAway(error: EgressProxyAwayError): void {
    if (this.#isAway || this.#isClosed) return;
    this.#isAway = true;
    this.options.onChange?.(error.message);
    this.#probeLater(error.isReached ? REACHED_PROBES : 1);
  }

  /**
   * A connection to the first of the addresses that the proxy reaches.
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

  /** Lets go who waits. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#letGo();
  }

  /** @returns the connection, or the status of the proxy's refusal */
  #connect(path: string, signal: AbortSignal): Promise<Socket | number> {
    return new Promise((resolve, reject) => {
      const secure = this.#url.protocol === 'https:';
      const { hostname, port } = this.#url;
      let wasReached = false;
      const request = (secure ? requestHttps : requestHttp)({
        method: 'CONNECT',
        hostname: bare(hostname),
        port: port === '' ? (secure ? 443 : 80) : Number(port),
        path,
        headers: { host: path, connection: 'keep-alive', ...this.#headers },
        agent: false,
        signal,
        ...this.#trust,
      });
      request.once('socket', (socket) => {
        socket.once(secure ? 'secureConnect' : 'connect', () => {
          wasReached = true;
        });
      });
      request.once('connect', ({ statusCode = 0 }, socket: Socket, head) => {
        if (statusCode < 200 || statusCode > 299) {
          socket.destroy();
          resolve(statusCode);
          return;
        }
        // Neither TLS nor HTTP begins with the server.
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
        reject(wasReached ? new EgressProxyRefusal(refusalOf(error)) : new EgressProxyAwayError(reasonOf(error)));
      });
      request.end();
    });
  }

  #probeLater(probes = 1): void {
    this.#timer = setTimeout(
      () => {
        this.#probe();
      },
      (this.options.probeEveryMs ?? 1_000) * probes,
    ).unref();
  }

  #probe(): void {
    const secure = this.#url.protocol === 'https:';
    const { hostname, port } = this.#url;
    const host = bare(hostname);
    const to = { host, port: port === '' ? (secure ? 443 : 80) : Number(port) };
    const isName = host === hostname;
    const socket = secure
      ? connectTls({ ...to, ...this.#trust, ...(isName ? { servername: host } : {}) })
      : connectTcp(to);
    const end = (isThere: boolean) => {
      socket.removeAllListeners().on('error', () => undefined);
      socket.destroy();
      if (this.#isClosed) return;
      if (!isThere) {
        this.#probeLater();
        return;
      }
      this.#isAway = false;
      this.options.onChange?.(null);
      this.#letGo();
    };
    socket.setTimeout(PROBE_MS, () => {
      end(false);
    });
    socket.once('error', () => {
      end(false);
    });
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      end(true);
    });
  }

  #letGo(): void {
    for (const go of [...this.#waiting]) go();
  }
}

/** A host without the brackets of an IPv6 address. */
function bare(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
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
