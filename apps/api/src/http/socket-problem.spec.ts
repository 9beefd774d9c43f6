import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fastify, type FastifyInstance } from 'fastify';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { limitPipelining } from './limit-pipelining.js';
import { answerOnSocket } from './socket-problem.js';

const GARBAGE = 'no request\r\n\r\n';

let app: FastifyInstance;
let socket: Socket;
let text: string;

beforeEach(async () => {
  app = fastify({
    clientErrorHandler: (error, failed) => {
      answerOnSocket(error, failed, 'request-1');
    },
  });
  limitPipelining(app.server, (_request, response) => response.end());
  app.get('/stream', (_request, reply) => {
    reply.hijack();
    reply.raw.write('one');
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  text = '';
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

describe('what is no request', () => {
  it('is answered, and ends the connection', async () => {
    socket.write(GARBAGE);
    await once(socket, 'close');
    expect(text).toMatch(/^HTTP\/1\.1 400 [^{]*\{.*"code":"malformed_request".*\}$/s);
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
