import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** One POST that a receiver got. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly atMs: number;
}

export type Answer = (request: IncomingMessage, response: ServerResponse, received: Received) => void;

/** A customer's webhook receiver on loopback: answers 200, or as `answer` does, and keeps what it gets. */
export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  answer: Answer;
  close(): Promise<void>;
}

export async function aReceiver(
  answer: Answer = (_request, response) => response.end('ok'),
  tls?: { readonly key: Buffer; readonly cert: Buffer },
): Promise<Receiver> {
  const received: Received[] = [];
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const one = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks), atMs: Date.now() };
      received.push(one);
      receiver.answer(request, response, one);
    });
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const receiver: Receiver = {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    answer,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
  return receiver;
}
