import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/** How long a server that closes waits for its clients, milliseconds. */
export interface ClosingPatience {
  /** For the rest of a request. */
  readonly requestMs: number;
  /** For a client to get the answer to a whole request. */
  readonly answerMs: number;
}

/**
 * The connections of a server, and the requests that are being answered on each.
 *
 * When a server closes, Node leaves connections open that would keep the process from ending: those that have not sent a
 * request yet (browsers open some in advance), and those whose last response ends a moment later. It also stops
 * enforcing the timeouts of requests, so a client that sends or reads slowly would have any time.
 */
export class OpenConnections {
  readonly #requests = new Map<Socket, Set<IncomingMessage>>();

  constructor(server: Server) {
    // Node would also close connections whose client has not read all of its answer. `sweep` closes the idle ones.
    server.closeIdleConnections = () => undefined;
    server.on('connection', (socket) => {
      this.#requests.set(socket, new Set());
      socket.once('close', () => {
        this.#requests.delete(socket);
      });
    });
    server.on('request', (request, response) => {
      const requests = this.#requests.get(request.socket);
      requests?.add(request);
      response.once('close', () => {
        requests?.delete(request);
      });
    });
  }

  /**
   * Closes the connections on which no request is being answered, and those for which a closing server has waited enough.
   * @param sinceMs how long the server has been closing
   */
  sweep(sinceMs: number, { requestMs, answerMs }: ClosingPatience): void {
    for (const [socket, requests] of this.#requests) {
      // The one that is answered next. Those after it wait for it.
      const [request] = requests;
      if (request === undefined || sinceMs >= (request.complete ? answerMs : requestMs)) socket.destroy();
    }
  }
}
