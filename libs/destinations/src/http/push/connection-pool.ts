import type { EndpointHost } from '../endpoint-url.js';
import { Connection, type ConnectionOptions } from './connection.js';

export interface ConnectionPoolOptions extends ConnectionOptions {
  readonly maxConnectionsPerOrigin: number;
  readonly maxConnectionAgeMs: number;
}

export type Acquired =
  | { readonly kind: 'acquired'; readonly connection: Connection }
  | { readonly kind: 'refused'; readonly reason: string };

interface Waiter {
  readonly url: URL;
  readonly host: EndpointHost;
  readonly settle: (acquired: Acquired) => void;
}

/** The connections to one origin. */
interface Lane {
  open: number;
  /** Ordered by last use. The last one is used first, so that the others grow old and close. */
  readonly idle: Connection[];
  readonly waiting: Set<Waiter>;
}

/**
 * Keeps connections by origin and hands each to one request at a time. It replaces undici's pool for two reasons.
 * undici's time limits start before a request has a connection. Its connection limit cannot distinguish waiting from a
 * slow endpoint.
 */
export class ConnectionPool {
  readonly #lanes = new Map<string, Lane>();
  #inUse = 0;
  #closing: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;

  constructor(readonly options: ConnectionPoolOptions) {}

  /** The number of connections to all origins, idle or not. */
  get size(): number {
    let size = 0;
    for (const lane of this.#lanes.values()) size += lane.open;
    return size;
  }

  /**
   * Returns a connection that the caller owns until it releases it. Waits while the origin has its maximum of
   * connections. Never rejects.
   */
  acquire(url: URL, host: EndpointHost, signal: AbortSignal | undefined): Promise<Acquired> | Acquired {
    if (this.#closing !== undefined) return { kind: 'refused', reason: 'the sender is stopping' };
    if (signal?.aborted === true) return { kind: 'refused', reason: 'the attempt was ended' };
    const lane = this.#laneOf(url.origin);
    const connection = this.#takeIdle(lane) ?? this.#open(lane, url, host);
    if (connection !== undefined) return { kind: 'acquired', connection };
    return new Promise((resolve) => {
      const end = (): void => {
        waiter.settle({ kind: 'refused', reason: 'the attempt was ended' });
      };
      const waiter: Waiter = {
        url,
        host,
        settle: (acquired) => {
          lane.waiting.delete(waiter);
          signal?.removeEventListener('abort', end);
          resolve(acquired);
        },
      };
      lane.waiting.add(waiter);
      signal?.addEventListener('abort', end, { once: true });
    });
  }

  /** @param reusable whether the last answer was read to its end */
  release(connection: Connection, reusable: boolean): void {
    this.#inUse--;
    const lane = this.#laneOf(connection.url.origin);
    if (reusable && this.#closing === undefined) lane.idle.push(connection);
    else this.#drop(connection);
    for (const waiter of lane.waiting) {
      const next = this.#takeIdle(lane) ?? this.#open(lane, waiter.url, waiter.host);
      if (next === undefined) break;
      waiter.settle({ kind: 'acquired', connection: next });
    }
    if (this.#inUse === 0) this.#onIdle?.();
  }

  /** Refuses waiting requests, and resolves when all connections have been released and closed. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    for (const { idle, waiting } of this.#lanes.values()) {
      for (const waiter of waiting) waiter.settle({ kind: 'refused', reason: 'the sender is stopping' });
      for (const connection of [...idle]) this.#drop(connection);
    }
    if (this.#inUse === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }

  #laneOf(origin: string): Lane {
    const known = this.#lanes.get(origin);
    if (known !== undefined) return known;
    const lane: Lane = { open: 0, idle: [], waiting: new Set() };
    this.#lanes.set(origin, lane);
    return lane;
  }

  #takeIdle(lane: Lane): Connection | undefined {
    const { clock, maxConnectionAgeMs } = this.options;
    for (let connection = lane.idle.pop(); connection !== undefined; connection = lane.idle.pop()) {
      if (clock.now() - connection.openedAt < maxConnectionAgeMs) {
        this.#inUse++;
        return connection;
      }
      this.#drop(connection);
    }
    return undefined;
  }

  #open(lane: Lane, url: URL, host: EndpointHost): Connection | undefined {
    if (lane.open >= this.options.maxConnectionsPerOrigin) return undefined;
    const connection = new Connection(url, host, this.options);
    // Closing the last old connection may have removed the lane from the map.
    this.#lanes.set(url.origin, lane);
    lane.open++;
    this.#inUse++;
    connection.onDisconnect(() => {
      if (lane.idle.includes(connection)) this.#drop(connection);
    });
    return connection;
  }

  #drop(connection: Connection): void {
    const { origin } = connection.url;
    const lane = this.#laneOf(origin);
    const at = lane.idle.indexOf(connection);
    if (at !== -1) lane.idle.splice(at, 1);
    connection.destroy();
    lane.open--;
    // Remove empty lanes, because origins come and go with their endpoints.
    if (lane.open === 0 && lane.waiting.size === 0) this.#lanes.delete(origin);
  }
}
