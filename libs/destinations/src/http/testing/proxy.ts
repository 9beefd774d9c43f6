import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import type { KeyAndCertificate } from '../../../../../test/support/certificates.js';
import { freePort } from '../../../../../test/support/free-port.js';

export interface TestProxy {
  readonly port: number;
  /** The targets of the `CONNECT` requests, such as `127.0.0.1:443`. */
  readonly asked: readonly string[];
  readonly headers: readonly IncomingMessage['headers'][];
  close(): Promise<void>;
}

export interface ProxyOptions {
  readonly port?: number;
  readonly tls?: KeyAndCertificate;
  /** @returns the status of a refusal, 0 to close without one, `undefined` to connect */
  readonly refuse?: (to: string) => number | undefined;
  /** Whether other requests than `CONNECT` get an answer. Default: yes. */
  readonly answersOthers?: boolean;
}

/** Starts a proxy on a loopback port. The system gives the port to nobody while the proxy is away. */
export async function startProxy({ port, tls, refuse, answersOthers = true }: ProxyOptions = {}): Promise<TestProxy> {
  const asked: string[] = [];
  const headers: IncomingMessage['headers'][] = [];
  const sockets = new Set<Socket>();
  const answer = (_request: IncomingMessage, response: ServerResponse) => {
    if (answersOthers) response.writeHead(400).end();
  };
  const server = tls === undefined ? createServer(answer) : createSecureServer(tls, answer);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
  });
  server.on('connect', (request, client: Socket) => {
    const to = request.url ?? '';
    asked.push(to);
    headers.push(request.headers);
    client.on('error', () => undefined);
    const status = refuse?.(to);
    if (status === 0) client.destroy();
    else if (status !== undefined) client.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
    else {
      const { hostname, port: targetPort } = new URL(`tcp://${to}`);
      const target = connect({ host: hostname.replace(/[[\]]/g, ''), port: Number(targetPort) });
      target.on('error', () => client.destroy());
      client.on('close', () => target.destroy());
      target.once('connect', () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        client.pipe(target).pipe(client);
      });
    }
  });
  const own = port ?? (await freePort());
  server.listen(own, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: own,
    asked,
    headers,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        for (const socket of sockets) socket.destroy();
      }),
  };
}
