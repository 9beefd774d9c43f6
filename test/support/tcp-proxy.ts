import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePort } from './free-port.js';

/** A way to a server that can be closed and opened again; nobody on it notices that it is one. */
export interface TcpProxy {
  /** The url of the server, by way of the proxy. */
  readonly url: string;
  /** Connections are accepted and passed on. */
  open(): Promise<void>;
  /** Connections are cut, and new ones refused: as if the server were not there. */
  close(): Promise<void>;
  /** Connections stay open, and nothing passes any more: as if the server, or the way to it, had frozen. */
  freeze(): void;
}

/** Starts a proxy for the server that the url names; it is closed at first. */
export async function aTcpProxy(url: string): Promise<TcpProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let isFrozen = false;
  let server: Server | undefined;

  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    // Cutting connections is what this is for.
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    return socket;
  };
  const pass = (from: Socket, to: Socket): void => {
    from.on('data', (bytes) => {
      if (!isFrozen) to.write(bytes);
    });
    from.on('close', () => to.destroy());
  };
  const listen = async (port: number): Promise<Server> => {
    const listening = createServer((near) => {
      const far = connect(Number(target.port), target.hostname);
      for (const socket of [near, far]) keep(socket);
      pass(near, far);
      pass(far, near);
    }).listen(port, '127.0.0.1');
    await once(listening, 'listening');
    return listening;
  };
  const shut = async (): Promise<void> => {
    const closing = server;
    server = undefined;
    const closed = new Promise<void>((resolve) => {
      if (closing === undefined) resolve();
      else
        closing.close(() => {
          resolve();
        });
    });
    for (const socket of sockets) socket.destroy();
    await closed;
  };

  // The system gives it to nobody while the proxy is closed.
  const port = await freePort();
  const way = new URL(url);
  way.hostname = '127.0.0.1';
  way.port = String(port);
  return {
    url: way.href,
    async open() {
      isFrozen = false;
      server ??= await listen(port);
    },
    close: shut,
    freeze() {
      isFrozen = true;
    },
  };
}
