import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** What the network between stages and a broker does to what passes. */
export interface WayState {
  /** Connections are refused, and those that there are end. */
  readonly isCut?: boolean;
  /**
   * Nothing arrives in this direction until the way is clear again. As on a real network nothing of a stream is left out:
   * what was sent meanwhile arrives late, and in order.
   */
  readonly holds?: 'requests' | 'answers';
  readonly delayMs?: number;
}

/** Passes on what one socket reads to another one, later if the way says so. */
class Direction {
  readonly #waiting: { readonly bytes: Buffer | null; readonly dueAt: number }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #lastDueAt = 0;

  constructor(
    from: Socket,
    private readonly to: Socket,
    private readonly now: () => { readonly holds: boolean; readonly delayMs: number },
  ) {
    from.on('data', (bytes: Buffer) => {
      this.#take(bytes);
    });
    from.on('close', () => {
      this.#take(null);
    });
  }

  /** Passes on what is due. */
  pump(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (let next = this.#waiting[0]; next !== undefined && !this.now().holds; next = this.#waiting[0]) {
      const waitMs = next.dueAt - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => {
          this.pump();
        }, waitMs);
        return;
      }
      this.#waiting.shift();
      if (next.bytes === null) this.to.end();
      else if (this.to.writable) this.to.write(next.bytes);
    }
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#waiting.length = 0;
  }

  #take(bytes: Buffer | null): void {
    this.#lastDueAt = Math.max(this.#lastDueAt, performance.now() + this.now().delayMs);
    this.#waiting.push({ bytes, dueAt: this.#lastDueAt });
    this.pump();
  }
}

/** A way to a broker that can be cut, held up and slowed down. The client on it takes it for the broker itself. */
export class BrokerWay {
  readonly #connections = new Map<Socket, { readonly far: Socket; readonly directions: readonly Direction[] }>();
  #state: WayState = {};

  private constructor(private readonly server: Server) {}

  /** @param broker `host:port` */
  static async to(broker: string): Promise<BrokerWay> {
    const [host, port] = broker.split(':');
    const server = createServer((near) => {
      way.#pass(near, Number(port), host ?? '');
    });
    const way = new BrokerWay(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return way;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** From now on; `{}` clears the way. */
  set(state: WayState): void {
    this.#state = state;
    if (state.isCut) this.#endConnections();
    for (const { directions } of this.#connections.values()) for (const direction of directions) direction.pump();
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.#endConnections();
    await closed;
  }

  #pass(near: Socket, port: number, host: string): void {
    if (this.#state.isCut) {
      near.resetAndDestroy();
      return;
    }
    const far = connect(port, host);
    const passing = (held: 'requests' | 'answers') => () => ({
      holds: this.#state.holds === held,
      delayMs: this.#state.delayMs ?? 0,
    });
    const directions = [new Direction(near, far, passing('requests')), new Direction(far, near, passing('answers'))];
    this.#connections.set(near, { far, directions });
    // Connections that break are what this is for.
    near
      .on('error', () => undefined)
      .on('close', () => {
        if (far.destroyed) this.#connections.delete(near);
      });
    far
      .on('error', () => undefined)
      .on('close', () => {
        if (near.destroyed) this.#connections.delete(near);
      });
  }

  #endConnections(): void {
    for (const [near, { far, directions }] of this.#connections) {
      for (const direction of directions) direction.end();
      near.destroy();
      far.destroy();
    }
    this.#connections.clear();
  }
}
