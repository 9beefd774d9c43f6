import type { EndpointHost } from '../endpoint-url.js';
import type { ClientIdentity } from './push-attempt.js';
import { Connection, type ConnectionOptions } from './connection.js';

export interface ConnectionPoolOptions extends ConnectionOptions {
  readonly maxConnectionAgeMs: number;
}

export type Acquired =
  | { readonly kind: 'acquired'; readonly connection: Connection }
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * Keeps idle connections by origin, and by the client certificate of an endpoint that has one. It gives each to one
 * request at a time. No request waits for one of another: hosts are shared by many endpoints, and a slow endpoint must
 * not delay the others. The lanes of the dispatcher bound how many requests there are. undici's pool would let requests
 * wait, and its time limits start before a request has a connection.
 */
export class ConnectionPool {
  /** Each list is ordered by last use. The last connection is used first, so that the others grow old and close. */
  readonly #idle = new Map<string, Connection[]>();
  #idleCount = 0;
  #inUse = 0;
  #closing: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;

  constructor(readonly options: ConnectionPoolOptions) {}

  /** The number of connections to all origins, idle or not. */
  get size(): number {
    return this.#inUse + this.#idleCount;
  }

  /** Returns a connection that the caller owns until it releases it. */
  acquire(url: URL, host: EndpointHost, signal: AbortSignal | undefined, identity?: ClientIdentity): Acquired {
    if (this.#closing !== undefined) return { kind: 'refused', reason: 'the sender is stopping' };
    if (signal?.aborted === true) return { kind: 'refused', reason: 'the attempt was ended' };
    this.#inUse++;
    return { kind: 'acquired', connection: this.#takeIdle(peerOf(url, identity)) ?? this.#open(url, host, identity) };
  }

  /** @param reusable whether the last answer was read to its end */
  release(connection: Connection, reusable: boolean): void {
    this.#inUse--;
    if (reusable && this.#closing === undefined) this.#keep(connection);
    else connection.destroy();
    if (this.#inUse === 0) this.#onIdle?.();
  }

  /** Resolves when all connections have been released and closed. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    for (const idle of [...this.#idle.values()]) for (const connection of [...idle]) this.#drop(connection);
    if (this.#inUse === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }

  #keep(connection: Connection): void {
    const peer = peerOf(connection.url, connection.identity);
    const idle = this.#idle.get(peer);
    if (idle === undefined) this.#idle.set(peer, [connection]);
    else idle.push(connection);
    this.#idleCount++;
  }

  #takeIdle(peer: string): Connection | undefined {
    const { maxConnectionAgeMs } = this.options;
    for (let last = this.#idle.get(peer)?.at(-1); last !== undefined; last = this.#idle.get(peer)?.at(-1)) {
      this.#forget(last);
      if (performance.now() - last.openedAt < maxConnectionAgeMs) return last;
      last.destroy();
    }
    return undefined;
  }

  #open(url: URL, host: EndpointHost, identity: ClientIdentity | undefined): Connection {
    const connection = new Connection(url, host, this.options, identity);
    connection.onDisconnect(() => {
      this.#drop(connection);
    });
    return connection;
  }

  /** Closes an idle connection; one that is in use belongs to its request. */
  #drop(connection: Connection): void {
    if (this.#forget(connection)) connection.destroy();
  }

  /** @returns whether the connection was idle */
  #forget(connection: Connection): boolean {
    const peer = peerOf(connection.url, connection.identity);
    const idle = this.#idle.get(peer);
    const at = idle?.lastIndexOf(connection) ?? -1;
    if (idle === undefined || at === -1) return false;
    idle.splice(at, 1);
    this.#idleCount--;
    // Remove empty lists, because origins come and go with their endpoints.
    if (idle.length === 0) this.#idle.delete(peer);
    return true;
  }
}

/** Names what a connection may be used for again. */
function peerOf({ origin }: URL, identity: ClientIdentity | undefined): string {
  return identity === undefined ? origin : [origin, identity.endpointId, identity.certificate].join(' ');
}
