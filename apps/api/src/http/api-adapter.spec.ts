import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { createApiAdapter } from './api-adapter.js';
import { acceptJson } from './bodies/accept-json.js';
import type { ClosingPatience } from './open-connections.js';

/** More than the kernel takes for a client that reads nothing. */
const ANSWER_BYTES = 12 * 1024 * 1024;
const LONG_MS = 60_000;
const HALF_A_REQUEST =
  'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{';

const ends: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function aServer(closingPatience: ClosingPatience) {
  const adapter = createApiAdapter(closingPatience);
  const instance = adapter.getInstance<FastifyInstance>();
  instance.decorateRequest('apiKey', null);
  instance.decorateRequest('portal', null);
  acceptJson(instance, ANSWER_BYTES);
  let asked = 0;
  instance.get('/:afterMs', async ({ params }) => {
    asked++;
    await delay(Number((params as { readonly afterMs: string }).afterMs));
    return 'x'.repeat(ANSWER_BYTES);
  });
  instance.post('/', () => 'answered');
  await instance.listen({ port: 0, host: '127.0.0.1' });
  ends.push(() => adapter.close());
  const { port } = instance.server.address() as AddressInfo;
  const open = async (text: string): Promise<Socket> => {
    const socket = connect({ port, host: '127.0.0.1' });
    ends.push(() => socket.destroy());
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(text);
    return socket;
  };
  const arrived = new Promise((resolve) => instance.server.once('request', resolve));
  const closed = () => Promise.race([adapter.close().then(() => 'closed'), delay(5_000, 'still open', { ref: false })]);
  return { open, arrived, closed, asked: () => asked };
}

it('a request whose body stays away does not keep a server from closing', async () => {
  const { open, arrived, closed } = await aServer({ requestMs: 200, answerMs: LONG_MS });
  await open(HALF_A_REQUEST);
  await arrived;
  expect(await closed()).toBe('closed');
});

it('a request whose body arrives in time is answered by a server that closes', async () => {
  const { open, arrived, closed } = await aServer({ requestMs: LONG_MS, answerMs: LONG_MS });
  const socket = await open(HALF_A_REQUEST);
  await arrived;
  const closing = closed();
  await delay(200);
  socket.write('}');
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1.1 200 .*answered/s);
  expect(await closing).toBe('closed');
});

const askAfter = (ms: number) => `GET /${ms} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

it('a client that does not read its answer does not keep a server from closing', async () => {
  const { open, closed, asked } = await aServer({ requestMs: LONG_MS, answerMs: 600 });
  await open(askAfter(200));
  await eventually(() => {
    expect(asked()).toBe(1);
  });
  expect(await closed()).toBe('closed');
});

it('a client that reads its answer when a server begins to close gets all of it', async () => {
  const { open, closed } = await aServer({ requestMs: LONG_MS, answerMs: LONG_MS });
  const socket = await open(askAfter(0));
  let bytes = 0;
  await once(socket, 'readable');
  const closing = closed();
  await delay(200);
  socket.on('data', (data: Buffer) => (bytes += data.length));
  await once(socket, 'close');
  expect(bytes).toBeGreaterThan(ANSWER_BYTES);
  expect(await closing).toBe('closed');
});
