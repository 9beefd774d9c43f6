import type { Socket } from 'node:net';
import { STATUS_CODES, type ServerResponse } from 'node:http';
import { PROBLEM_MEDIA_TYPE, problemOf } from '../problems/problem.js';
import { refusedByFramework } from '../problems/failure.js';
import { isBeingAnswered, lastAwaited } from './limit-pipelining.js';

/** The statuses for errors of Node's HTTP parser; 400 for all others. */
const STATUS_OF_CODE: Readonly<Record<string, number>> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 };

/** The responses after which a request that cannot be parsed is answered. */
const answeredAfter = new WeakSet<ServerResponse>();

/** Answers a request that cannot be parsed on its socket, after the requests before it, and closes the socket. */
export function answerOnSocket(error: NodeJS.ErrnoException, socket: Socket, requestId: string): void {
  // A caller that has gone has no use for an answer, and an answer within another one, such as a stream, would be part of it.
  if (error.code === 'ECONNRESET' || !socket.writable || socket.destroyed || isBeingAnswered(socket)) {
    socket.destroy();
    return;
  }
  // Otherwise, its answer would be taken for that of a request before it.
  const before = lastAwaited(socket);
  if (before !== undefined) {
    // The parser fails again for each packet that follows.
    if (answeredAfter.has(before)) return;
    answeredAfter.add(before);
    before.once('close', () => {
      answerOnSocket(error, socket, requestId);
    });
    return;
  }
  const status = STATUS_OF_CODE[error.code ?? ''] ?? 400;
  const body = JSON.stringify(problemOf(refusedByFramework(status), { id: requestId, url: '' }));
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nContent-Type: ${PROBLEM_MEDIA_TYPE}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${requestId}\r\nConnection: close\r\n\r\n${body}`,
  );
}
