import { expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { ISocketFactoryArgs } from 'kafkajs';
import { CountedSockets } from './counted-sockets.js';

test('a closed socket gathers no listeners, however often it is released', async () => {
  const server = createServer((connection) => connection.end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const plain = { host: '127.0.0.1', port, onConnect: () => undefined } as unknown as ISocketFactoryArgs;
  const socket = new CountedSockets().open(plain);
  socket.resume();
  await once(socket, 'close');
  for (let i = 0; i < 20; i++) socket.unref();
  expect(socket.listenerCount('connect')).toBe(0);
  server.close();
});
