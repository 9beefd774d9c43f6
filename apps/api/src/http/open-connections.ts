import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The connections of a server, and how many requests are being answered on each.
 *
 * When a server closes, Node leaves two kinds of connections open: those that have not sent a request yet (browsers
 * open some in advance), and those whose last response ends a moment later. Either would keep the process from ending.
 */
export class OpenConnections {
  readonly #requests = new Map<Socket, number>();

  constructor(server: Server) {
    server.on('connection', (socket) => {
      this.#requests.set(socket, 0);
      socket.once('close', () => {
        this.#requests.delete(socket);
      });
    });
    server.on('request', ({ socket }, response) => {
      this.#count(socket, 1);
      response.once('close', () => {
        this.#count(socket, -1);
      });
    });
  }

  /** Closes the connections on which no request is being answered. */
  closeIdle(): void {
    for (const [socket, requests] of this.#requests) if (requests === 0) socket.destroy();
  }

  #count(socket: Socket, change: number): void {
    const requests = this.#requests.get(socket);
    if (requests !== undefined) this.#requests.set(socket, requests + change);
  }
}
