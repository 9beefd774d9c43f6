import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Clients that send requests before they have read answers use few at a time; most send one. */
export const MAX_PIPELINED = 8;

/** A stream of the feed has eleven for its end: ours, and those of Node and the framework. */
const MOST_LISTENERS = 20;

/** The responses of each connection that have not ended. */
const waiting = new WeakMap<Socket, Set<ServerResponse>>();

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Limits the requests of a connection that wait for their answers. One packet can hold hundreds of requests, which would all
 * be begun before any request of another connection. The first one too many is refused, and closes the connection.
 * @param refuse answers it
 */
export function limitPipelining(server: Server, refuse: Handler): void {
  const refused = new WeakSet<Socket>();
  // Around the framework, whose own work for each request is most of what a refusal would cost.
  const handlers = server.listeners('request') as Handler[];
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    // The connection closes with the answer to the request before.
    if (refused.has(socket)) return;
    const others = waiting.get(socket) ?? thoseOf(socket);
    waiting.set(socket, others);
    if (others.size >= MAX_PIPELINED) {
      refused.add(socket);
      stopReading(socket);
      response.setHeader('connection', 'close');
      refuse(request, response);
      return;
    }
    others.add(response);
    response.setMaxListeners(MOST_LISTENERS);
    response.once('close', () => {
      others.delete(response);
    });
    for (const handle of handlers) handle(request, response);
  });
}

/**
 * Returns an empty set for the responses of a connection. When that ends, Node closes only the response whose turn it is,
 * so the others are closed here: what is held for them would be held for ever.
 */
function thoseOf(socket: Socket): Set<ServerResponse> {
  const responses = new Set<ServerResponse>();
  socket.once('close', () => {
    for (const response of responses) if (response.socket === null) response.destroy().emit('close');
  });
  return responses;
}

/** Whether a response has begun on the connection, and is not complete. */
export function isBeingAnswered(socket: Socket): boolean {
  return [...(waiting.get(socket) ?? [])].some(({ headersSent, writableEnded }) => headersSent && !writableEnded);
}

/** Returns the last response of the connection that a complete request waits for. Those before it end before it. */
export function lastAwaited(socket: Socket): ServerResponse | undefined {
  return [...(waiting.get(socket) ?? [])].findLast(({ req }) => req.complete);
}

/** Leaves the rest of the requests in the kernel, where it takes no time. Node would read on after each answer. */
function stopReading(socket: Socket): void {
  socket.pause();
  socket.resume = () => socket;
}
