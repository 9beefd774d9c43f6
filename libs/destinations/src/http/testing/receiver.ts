import { once } from 'node:events';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import type { KeyAndCertificate } from '../../../../../test/support/certificates.js';

/** Called for each complete request; `request` is its text, `nth` counts from 0 over all connections. */
export type Behaviour = (socket: Socket, request: string, nth: number) => void;

export interface TestReceiver {
  readonly port: number;
  /** How many connections were made so far. */
  readonly connections: () => number;
  /** Sockets that are open now. */
  readonly open: () => number;
  /** The text of each request, head and body. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

export interface ReceiverOptions {
  readonly tls?: KeyAndCertificate & TlsOptions;
  /** Called for each new connection, before any request. */
  readonly onConnection?: (socket: Socket) => void;
}

/**
 * Resets a connection once a client in this process has read what was written. A reset that comes together with data
 * looks like an end to Node. `resetAndDestroy` would end the connection before.
 */
export async function reset(socket: Socket): Promise<void> {
  for (let turns = 0; turns < 3; turns++) await setImmediate();
  Object.assign(socket, { resetAndClosing: true }).destroy();
}

/** Starts a server on a free loopback port. It writes raw bytes, so that it can break every rule of HTTP. */
export async function startReceiver(
  behaviour: Behaviour,
  { tls, onConnection }: ReceiverOptions = {},
): Promise<TestReceiver> {
  const sockets = new Set<Socket>();
  const requests: string[] = [];
  let connections = 0;

  const accept = (socket: Socket): void => {
    connections++;
    sockets.add(socket);
    let pending = '';
    socket.on('close', () => sockets.delete(socket));
    // Many tests let the client drop the connection.
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      pending += chunk.toString('latin1');
      const headEnd = pending.indexOf('\r\n\r\n') + 4;
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(pending)?.[1] ?? 0);
      if (headEnd < 4 || pending.length < headEnd + length) return;
      const request = pending.slice(0, headEnd + length);
      pending = pending.slice(headEnd + length);
      requests.push(request);
      behaviour(socket, request, requests.length - 1);
    });
    onConnection?.(socket);
  };
  const server: Server = tls === undefined ? createTcpServer(accept) : createTlsServer(tls, accept);
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');

  return {
    port: address.port,
    connections: () => connections,
    open: () => sockets.size,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        for (const socket of sockets) socket.destroy();
      }),
  };
}
