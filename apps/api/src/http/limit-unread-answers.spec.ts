import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fastify, type FastifyInstance } from 'fastify';
import type { GaplessError } from '#libs/domain';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { limitUnreadAnswers } from './limit-unread-answers.js';

/** More than the kernel takes for a client that reads nothing. */
const ANSWER_BYTES = 12 * 1024 * 1024;
const PATH = '/page';

let app: FastifyInstance;
let port: number;
let sockets: Socket[];
let made: number;

beforeEach(async () => {
  [sockets, made] = [[], 0];
  app = fastify();
  limitUnreadAnswers(app, 2 * ANSWER_BYTES);
  app.setErrorHandler((error: GaplessError, _request, reply) => reply.code(429).send({ code: error.code }));
  app.get(PATH, () => {
    made++;
    return 'x'.repeat(ANSWER_BYTES);
  });
  app.get('/small', () => 'x');
  app.post('/small', () => 'x');
  await app.listen({ port: 0, host: '127.0.0.1' });
  port = (app.server.address() as AddressInfo).port;
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await app.close();
});

/** Asks for the page, and reads nothing of it. */
async function askWithoutReading(): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' });
  sockets.push(socket);
  await once(socket, 'connect');
  socket.pause();
  socket.write(`GET ${PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  return socket;
}

async function statusOf(path: string, method = 'GET'): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
  await response.arrayBuffer();
  return response.status;
}

describe('answers that a caller does not read', () => {
  it('take room, and beyond it nothing more is made for the caller', async () => {
    await askWithoutReading();
    await eventually(() => {
      expect(made).toBe(1);
    });
    expect(await statusOf(PATH)).toBe(429);
    const before = made;
    for (let n = 0; n < 5; n++) await askWithoutReading();
    expect(await statusOf(PATH)).toBe(429);
    expect(made).toBeLessThanOrEqual(before + 6);
  });

  it('give their room back when they are read, or their connection ends', async () => {
    const socket = await askWithoutReading();
    await eventually(() => {
      expect(made).toBe(1);
    });
    expect(await statusOf(PATH)).toBe(429);
    socket.destroy();
    await eventually(async () => {
      expect(await statusOf(PATH)).toBe(200);
    });
    expect(await statusOf(PATH)).toBe(200);
  });

  it('keep nobody from writing', async () => {
    for (let n = 0; n < 3; n++) await askWithoutReading();
    await eventually(async () => {
      expect(await statusOf('/small')).toBe(429);
    });
    expect(await statusOf('/small', 'POST')).toBe(200);
  });

  it('do not count if they are small', async () => {
    for (let n = 0; n < 20; n++) expect(await statusOf('/small')).toBe(200);
  });
});
