import { connect as connectTcp, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { Client, type buildConnector, type Dispatcher } from 'undici';
import type { Clock } from '#libs/domain';
import type { Network } from '#libs/runtime';
import { loadCertificate } from '../certificates/client-certificate.js';
import type { EndpointHost } from '../endpoint-url.js';
import { resolveEndpointAddress } from '../resolve-endpoint-address.js';
import type { Resolver } from '../resolver.js';
import { TLS_LIMITS } from '../tls-limits.js';
import { BoundedAnswer, MAX_HEADER_BYTES } from './answer/bounded-answer.js';
import { BoundedHandshake } from './bounded-handshake.js';
import type { EgressProxy } from '../proxy/egress-proxy.js';
import type { ClientIdentity } from './push-attempt.js';
import { ClientCertificateError, EndpointAddressError, type ConnectionPhase } from './transport-error.js';
import { UnaskedContinueFilter } from './answer/unasked-continue.js';

export interface ConnectionOptions {
  readonly resolver: Resolver;
  readonly allowedNetworks: readonly Network[];
  readonly deniedNetworks?: readonly Network[];
  readonly clock: Clock;
  readonly ca?: string | undefined;
  /** If given, connections go through this proxy. */
  readonly proxy?: EgressProxy | undefined;
}

/**
 * Closes an idle connection after this many milliseconds, or a second before the server's `Keep-Alive` limit. Servers
 * commonly close after 5 s (Node) or more. A POST that meets a closing server is lost and counts as an attempt.
 */
const IDLE_MS = 4_000;
const IDLE_MARGIN_MS = 1_000;
const MAX_IDLE_MS = 30_000;
/**
 * How long to try one of several addresses before the next, milliseconds; well above the longest round trip on earth.
 */
const ADDRESS_ATTEMPT_MS = 1_000;

/** Returns a look-up for `net.connect` with fixed addresses, which were checked before. It asks no name server. */
function pinned(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  return (_hostname, { all }, callback) => {
    if (all === true) callback(null, found);
    else callback(null, found[0]?.address ?? '', found[0]?.family);
  };
}

/**
 * One HTTP/1.1 connection to an origin, for one request at a time. When it opens the socket, it looks up and checks the
 * host, and connects to a checked address.
 */
export class Connection {
  readonly #client: Client;
  readonly #bounds = new BoundedAnswer();
  readonly #continueFilter = new UnaskedContinueFilter();
  #socket: Socket | undefined;
  /** The connection below TLS, once it is secured. */
  #secured: BoundedHandshake | undefined;
  /** With the client certificate, if one is presented. */
  #secureContext: SecureContext | undefined;
  readonly #ending = new AbortController();
  #phase: ConnectionPhase = 'resolving';
  #openedAt = 0;
  #error: Error | undefined;
  #destroyed = false;

  constructor(
    readonly url: URL,
    readonly host: EndpointHost,
    readonly options: ConnectionOptions,
    readonly identity?: ClientIdentity,
  ) {
    this.#client = new Client(url.origin, {
      connect: (_options, callback) => {
        this.#connect(callback);
      },
      maxHeaderSize: MAX_HEADER_BYTES,
      // The exchange has one timer for all phases.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_MS,
      keepAliveTimeoutThreshold: IDLE_MARGIN_MS,
      keepAliveMaxTimeout: MAX_IDLE_MS,
      pipelining: 1,
    });
  }

  get phase(): ConnectionPhase {
    return this.#phase;
  }

  /** When its socket was opened, monotonic milliseconds. */
  get openedAt(): number {
    return this.#openedAt;
  }

  /** The error of the socket after it was open. undici takes a reset for the end of an answer that has no length. */
  get error(): Error | undefined {
    return this.#error;
  }

  dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#bounds.expectAnswer();
    this.#continueFilter.expectAnswer();
    this.#secured?.expectAnswer();
    this.#client.dispatch(request, handler);
  }

  /** Call it when the final status has come. */
  expectBody(): void {
    this.#bounds.expectBody();
  }

  onDisconnect(listener: () => void): void {
    this.#client.on('disconnect', listener);
  }

  /** Closes the socket at once, in any state. */
  destroy(): void {
    if (this.#destroyed) return;
    this.#destroyed = true;
    // The client does not know a socket that is still connecting.
    this.#socket?.destroy();
    this.#ending.abort();
    void this.#client.destroy();
  }

  #connect(callback: buildConnector.Callback): void {
    this.#phase = 'resolving';
    this.#socket = undefined;
    this.#error = undefined;
    const { resolver, allowedNetworks, deniedNetworks } = this.options;
    // Of a name, the kind of its address is shown where it was at registration (ADR 54).
    const isOpen = this.host.kind === 'ip' || allowedNetworks.length > 0;
    resolveEndpointAddress(this.host, resolver, allowedNetworks, deniedNetworks).then(
      (found) => {
        switch (found.kind) {
          case 'ok':
            this.#open(found.addresses, callback);
            break;
          case 'refused': {
            const detail = `an address of the host is not public${isOpen ? `: ${found.reason}` : ''}`;
            callback(new EndpointAddressError('blocked_address', detail), null);
            break;
          }
          case 'unresolvable':
            callback(new EndpointAddressError('dns', found.detail), null);
        }
      },
      () => {
        callback(new EndpointAddressError('dns', 'the name could not be looked up'), null);
      },
    );
  }

  #open(addresses: readonly string[], callback: buildConnector.Callback): void {
    if (this.#destroyed) {
      callback(new Error('the connection is no longer wanted'), null);
      return;
    }
    const { clock, ca } = this.options;
    const loaded = this.identity && loadCertificate(this.identity, clock.now(), ca);
    if (loaded?.kind === 'refused') {
      const member = loaded.member === 'certificate' ? 'client certificate' : 'private key';
      callback(new ClientCertificateError(`the ${member} ${loaded.detail}`), null);
      return;
    }
    this.#secureContext = loaded?.context;
    this.#phase = 'connecting';
    const name = this.host.kind === 'name' ? this.host.name : undefined;
    const host = name ?? (addresses[0] || '');
    const port = Number(this.url.port) || (this.#isSecure ? 443 : 80);
    const { proxy } = this.options;
    const connected = (socket: Socket): void => {
      if (this.#isSecure) this.#secure(socket, host, name, callback);
      else this.#opened(socket, callback);
    };
    if (proxy === undefined) {
      const tcp = connectTcp({
        host,
        port,
        lookup: pinned(addresses),
        autoSelectFamily: true,
        autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
        noDelay: true,
      });
      this.#use(tcp, 'connect', connected, callback);
      return;
    }
    proxy.tunnel(addresses, port, this.#ending.signal).then(connected, (error: unknown) => {
      callback(error as Error, null);
    });
  }

  #secure(tcp: Socket, host: string, name: string | undefined, callback: buildConnector.Callback): void {
    this.#phase = 'securing';
    const bounded = new BoundedHandshake(tcp);
    const secured = (socket: Socket): void => {
      bounded.expectAnswer();
      this.#secured = bounded;
      this.#opened(socket, callback);
    };
    this.#use(connectTls({ socket: bounded, host, ...this.#tls(name) }), 'secureConnect', secured, callback);
  }

  get #isSecure(): boolean {
    return this.url.protocol === 'https:';
  }

  /** Does not resume TLS sessions: each connection verifies the certificate again. */
  #tls(name: string | undefined) {
    return {
      ...TLS_LIMITS,
      ALPNProtocols: ['http/1.1'],
      ...(name === undefined ? {} : { servername: name }),
      ...(this.options.ca === undefined ? {} : { ca: this.options.ca }),
      ...(this.#secureContext === undefined ? {} : { secureContext: this.#secureContext }),
    };
  }

  /** Waits for the event of a socket that says that it is connected or secured. */
  #use(
    socket: Socket,
    event: 'connect' | 'secureConnect',
    then: (socket: Socket) => void,
    callback: buildConnector.Callback,
  ): void {
    this.#socket = socket;
    const fail = (error: Error): void => {
      callback(error, null);
    };
    socket.once('error', fail);
    socket.once(event, () => {
      socket.off('error', fail);
      then(socket);
    });
  }

  #opened(socket: Socket, callback: buildConnector.Callback): void {
    this.#socket = socket;
    this.#phase = 'open';
    this.#openedAt = performance.now();
    this.#bounds.attach(socket);
    this.#continueFilter.attach(socket);
    // Before undici, which ends the answer within its own listener.
    socket.once('error', (error) => {
      // undici may have connected again already.
      if (socket === this.#socket) this.#error = error;
    });
    callback(null, socket);
  }
}
