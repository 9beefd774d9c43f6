import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Socket } from 'node:net';
import { systemClock } from '#libs/domain';
import { parseNetworks } from '#libs/runtime';
import { freePort } from '../../../../../test/support/free-port.js';
import { createResolver } from '../resolver.js';
import { reset, startReceiver, type TestReceiver } from '../testing/receiver.js';
import type { Connection } from './connection.js';
import { ConnectionPool } from './connection-pool.js';
import { exchange } from './exchange.js';

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
let server: TestReceiver;
let sockets: Socket[];
let pool: ConnectionPool;

beforeEach(async () => {
  sockets = [];
  server = await startReceiver((socket) => socket.write(OK), { onConnection: (socket) => sockets.push(socket) });
  pool = new ConnectionPool({
    resolver: createResolver({ timeoutMs: 1_000 }),
    allowedNetworks: parseNetworks('127.0.0.0/8'),
    clock: systemClock,
    maxConnectionAgeMs: 60_000,
  });
});

afterEach(async () => {
  await pool.close();
  await server.close();
});

function acquire(port: number): Connection {
  const url = new URL(`http://127.0.0.1:${port}/`);
  const acquired = pool.acquire(url, { kind: 'ip', address: '127.0.0.1' }, undefined);
  if (acquired.kind === 'refused') throw new Error(acquired.reason);
  return acquired.connection;
}

async function post(port: number): Promise<void> {
  const connection = acquire(port);
  const request = { url: '', headers: () => ({}), body: Buffer.from('{}'), timeoutMs: 30_000 };
  const { reusable } = await exchange(connection, '/', request, systemClock);
  pool.release(connection, reusable);
}

describe('ConnectionPool', () => {
  it('keeps a connection whose answer was read to its end', async () => {
    await post(server.port);
    expect(pool.size).toBe(1);
    await post(server.port);
    expect([pool.size, server.connections()]).toEqual([1, 1]);
  });

  it('forgets an idle connection that the server closes', async () => {
    await post(server.port);
    sockets[0]?.end();
    const deadline = performance.now() + 60_000;
    while (pool.size > 0 && performance.now() < deadline) await new Promise((resolve) => setImmediate(resolve));
    expect(pool.size).toBe(0);
  });

  it('forgets a connection that could not be made', async () => {
    await post(await freePort());
    expect(pool.size).toBe(0);
  });

  it('forgets a connection that was reset in place of the end of an answer', async () => {
    const resetting = await startReceiver((socket) => {
      socket.write('HTTP/1.1 500 Oops\r\n\r\npart', () => {
        void reset(socket);
      });
    });
    await post(resetting.port);
    await resetting.close();
    expect(pool.size).toBe(0);
  });

  it('has none left when it is closed', async () => {
    await Promise.all([post(server.port), post(server.port), post(server.port)]);
    await pool.close();
    expect(pool.size).toBe(0);
  });
});
