import type { Socket } from 'node:net';
import { STATUS_CODES } from 'node:http';
import { PROBLEM_MEDIA_TYPE, problemOf, refusedByFramework } from '#libs/http-problems';

/** The statuses of what Node's HTTP parser refuses before there is a request. */
function statusOf(code: string | undefined): number {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 408;
    case 'HPE_HEADER_OVERFLOW':
      return 431;
    default:
      return 400;
  }
}

/** Answers on the bare socket what never became a request, and closes it. */
export function answerOnSocket(error: NodeJS.ErrnoException, socket: Socket, requestId: string): void {
  // A caller that has gone has no use for an answer; one that was answered already must not get a second one.
  if (error.code === 'ECONNRESET' || !socket.writable || socket.destroyed) {
    socket.destroy();
    return;
  }
  const status = statusOf(error.code);
  const body = JSON.stringify(problemOf(refusedByFramework(status), { id: requestId, url: '' }));
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nContent-Type: ${PROBLEM_MEDIA_TYPE}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${requestId}\r\nConnection: close\r\n\r\n${body}`,
  );
}
