import type { ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { fastify, type FastifyInstance } from 'fastify';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { limitPipelining, MAX_PIPELINED } from './limit-pipelining.js';

const requestFor = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
const REQUEST = requestFor('/');

let app: FastifyInstance;
let port: number;
let begun: number;

beforeEach(async () => {
  begun = 0;
  app = fastify();
  limitPipelining(app.server, (_request, response) => response.writeHead(429).end());
  app.get('/', async () => {
    begun++;
    await delay(20);
    return 'x';
  });
  app.get('/without-end', () => new Promise<never>(() => undefined));
  await app.listen({ port: 0, host: '127.0.0.1' });
  port = (app.server.address() as AddressInfo).port;
});

afterEach(() => app.close());

/** Sends the requests at once, and again when the answers to those are there. @returns the statuses until it is closed */
async function statusesOf(requests: number, rounds = 1): Promise<{ readonly statuses: string[]; isClosed: boolean }> {
  const socket = connect({ port, host: '127.0.0.1' });
  const result = { statuses: [] as string[], isClosed: false };
  let text = '';
  await new Promise<void>((resolve) => {
    let left = rounds;
    const send = () => socket.write(REQUEST.repeat(requests));
    socket.on('data', (bytes) => {
      text += bytes.toString();
      result.statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status ?? '');
      if (result.statuses.length < requests * (rounds - left + 1)) return;
      if (--left > 0) send();
      else resolve();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      result.isClosed = true;
      resolve();
    });
    send();
  });
  socket.destroy();
  return result;
}

describe('requests that are sent before the answers are read', () => {
  it('are all answered if they are few, and later ones on the connection, too', async () => {
    const { statuses, isClosed } = await statusesOf(MAX_PIPELINED, 3);
    expect([statuses, isClosed]).toEqual([Array(3 * MAX_PIPELINED).fill('200'), false]);
  });

  it('all end with their connection', async () => {
    const [begins, ends] = [jest.fn(), jest.fn()];
    app.server.on('request', (_request, response: ServerResponse) => {
      begins();
      response.once('close', () => {
        ends(response.destroyed);
      });
    });
    const socket = connect({ port, host: '127.0.0.1' });
    socket.write(requestFor('/without-end').repeat(MAX_PIPELINED));
    await eventually(() => {
      expect(begins).toHaveBeenCalledTimes(MAX_PIPELINED);
    });
    socket.destroy();
    await eventually(() => {
      expect(ends.mock.calls).toEqual(Array(MAX_PIPELINED).fill([true]));
    });
  });

  it('are begun up to the limit; then the connection gets a reason, and is closed', async () => {
    let parsed = 0;
    app.server.prependListener('request', () => parsed++);
    const { statuses, isClosed } = await statusesOf(100_000);
    expect([statuses, isClosed]).toEqual([[...Array<string>(MAX_PIPELINED).fill('200'), '429'], true]);
    expect(begun).toBe(MAX_PIPELINED);
    // No more than the first packets held.
    expect(parsed).toBeLessThan(20_000);
  });
});
