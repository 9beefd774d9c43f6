import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fastify, type FastifyInstance } from 'fastify';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { limitPipelining } from './limit-pipelining.js';
import { answerOnSocket } from './socket-problem.js';

const GARBAGE = 'no request\r\n\r\n';
const BROKEN_BODY =
  'POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n';

let app: FastifyInstance;
let socket: Socket;
let text: string;
let errors: number;
let answer: (() => void) | undefined;

beforeEach(async () => {
  app = fastify({
    clientErrorHandler: (error, failed) => {
      errors++;
      answerOnSocket(error, failed, 'request-1');
    },
  });
  limitPipelining(app.server, (_request, response) => response.end());
  app.get('/stream', (_request, reply) => {
    reply.hijack();
    reply.raw.write('one');
  });
  app.post('/body', () => 'whole');
  app.get('/slow', async () => {
    await new Promise<void>((resolve) => {
      answer = resolve;
    });
    return 'slow';
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  text = '';
  errors = 0;
  answer = undefined;
  socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('data', (bytes) => {
    text += bytes.toString();
  });
});

afterEach(async () => {
  socket.destroy();
  await app.close();
});

const asking = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

const statuses = () => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);

/** Waits until the parser has failed so often, or the connection is closed. */
function failures(count: number): Promise<void> {
  return eventually(() => {
    expect(socket.closed || errors >= count).toBe(true);
  });
}

describe('what is no request', () => {
  it('is answered, and ends the connection', async () => {
    socket.write(GARBAGE);
    await once(socket, 'close');
    expect(text).toMatch(/^HTTP\/1\.1 400 [^{]*\{.*"code":"malformed_request".*\}$/s);
  });

  it('is answered when it is in a body', async () => {
    socket.write(BROKEN_BODY);
    await once(socket, 'close');
    expect(statuses()).toEqual(['400']);
  });

  it.each([
    ['garbage', '400', GARBAGE],
    ['a body that breaks', '400', BROKEN_BODY],
    ['too many bytes of headers', '431', `${asking('/slow').trimEnd()}\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`],
  ])('is answered once, after the request before it: %s', async (_, status, broken) => {
    socket.write(asking('/slow') + broken);
    await failures(1);
    socket.write(GARBAGE);
    await failures(2);
    expect(text).toBe('');
    answer?.();
    await once(socket, 'close');
    expect(statuses()).toEqual(['200', status]);
  });

  it('ends a stream, and is not answered within it', async () => {
    socket.write(asking('/stream'));
    await eventually(() => {
      expect(text).toMatch(/one\r\n$/);
    });
    socket.write(GARBAGE);
    await once(socket, 'close');
    expect(text).toMatch(/one\r\n$/);
  });
});
