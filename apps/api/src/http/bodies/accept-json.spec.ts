import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fastify, type FastifyInstance } from 'fastify';
import { GaplessError, type OrgId } from '#libs/domain';
import { collectGarbage } from '../../../../../test/support/collect-garbage.js';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import type { AuthenticatedKey } from '../../auth/authenticated-key.js';
import { acceptJson } from './accept-json.js';

const KIB = 1_024;
const MIB = 1_024 * KIB;
const ROOM = 4 * MIB;
const LIMIT = MIB;
const JSON_HEADERS = 'Content-Type: application/json\r\n';

let app: FastifyInstance;
let port: number;
let sockets: Socket[];
let bodies: Buffer[];
/** Answers the requests to `/late`. */
let answer: () => void;
/** How many bytes are kept of the body of a `GET`. */
let kept: number | undefined;
/** How many requests to `/late` have been read. */
let waiting: number;

beforeEach(async () => {
  [sockets, bodies, kept, waiting] = [[], [], undefined, 0];
  app = fastify({ bodyLimit: LIMIT });
  app.decorateRequest('apiKey', null);
  app.decorateRequest('portal', null);
  app.addHook('onRequest', (request, _reply, done) => {
    const orgId = (request.headers['x-org'] ?? null) as OrgId | null;
    request.apiKey = orgId === null ? null : ({ orgId, quota: 'key' } as AuthenticatedKey);
    done();
  });
  acceptJson(app, ROOM);
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) =>
    error instanceof GaplessError
      ? reply
          .code({ rate_limited: 429, unavailable: 503, unsupported_media_type: 415 }[error.code as string] ?? 400)
          .send(error.detail)
      : reply.code(error.statusCode ?? 500).send(error.message),
  );
  app.post('/', ({ body }) => {
    bodies.push(body as Buffer);
    return 'ok';
  });
  const late = new Promise<string>((resolve) => {
    answer = () => {
      resolve('ok');
    };
  });
  app.post('/late', () => {
    waiting++;
    return late;
  });
  app.get('/late', async (request) => {
    setTimeout(() => (kept = request.raw.readableLength), 200);
    return late;
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  port = (app.server.address() as AddressInfo).port;
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await app.close();
});

async function open(text: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' });
  sockets.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}

async function statusOf(socket: Socket): Promise<string> {
  const [head] = (await once(socket, 'data')) as [Buffer];
  return head.toString('latin1').replace('HTTP/1.1 ', '');
}

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const chunked = (path = '/') =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${JSON_HEADERS}Transfer-Encoding: chunked\r\nConnection: close\r\n`;

async function post(body: string, org: string, path = '/'): Promise<number> {
  const headers = { 'content-type': 'application/json', 'x-org': org };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body });
  await response.arrayBuffer();
  return response.status;
}

describe('a body', () => {
  it.each([0, 1, 100, 20_000, 70_000])(
    'in chunks of different sizes is the bytes that were sent: %s of them',
    async (most) => {
      const pieces = Array.from({ length: 12 }, (_, nth) =>
        String.fromCharCode(97 + nth).repeat(1 + ((nth * most) % 60_000)),
      );
      const socket = await open(`${chunked()}\r\n${pieces.map(chunk).join('')}0\r\n\r\n`);
      expect(await statusOf(socket)).toMatch(/^200/);
      expect(bodies.map(String)).toEqual([pieces.join('')]);
    },
  );

  it('with a declared length is the bytes that were sent', async () => {
    const text = 'x'.repeat(LIMIT);
    expect(await post(text, 'one')).toBe(200);
    expect(bodies.map(String)).toEqual([text]);
  });

  it('may be empty', async () => {
    expect(await post('', 'one')).toBe(200);
    const socket = await open(`${chunked()}\r\n0\r\n\r\n`);
    expect(await statusOf(socket)).toMatch(/^200/);
    expect(bodies.map(String)).toEqual(['', '']);
  });

  it.each([
    ['declared', `Content-Length: ${LIMIT + 1}\r\n\r\n`],
    ['sent', `Transfer-Encoding: chunked\r\n\r\n${chunk('x'.repeat(LIMIT))}${chunk('x')}`],
  ])('is refused as soon as more than the operation takes is %s', async (_, rest) => {
    const socket = await open(`POST / HTTP/1.1\r\nHost: localhost\r\n${JSON_HEADERS}${rest}`);
    expect(await statusOf(socket)).toMatch(/^413/);
  });

  it('that is encoded is refused', async () => {
    const socket = await open(`${chunked()}Content-Encoding: gzip\r\n\r\n`);
    expect(await statusOf(socket)).toMatch(/^415/);
  });

  it('is refused in too many small chunks, before it is complete', async () => {
    const socket = await open(`${chunked()}\r\n${chunk('x').repeat(11_000)}`);
    expect(await statusOf(socket)).toMatch(/^400[^]*too many small chunks/);
  });

  it('takes little more memory than its bytes, whatever its chunks', async () => {
    const used = async () => {
      // The engine sweeps buffers after the first collection.
      for (let times = 0; times < 2; times++) await collectGarbage();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    const connected = once(app.server, 'connection') as Promise<[Socket]>;
    const request = `${chunked()}\r\n${chunk('x'.repeat(19)).repeat(50_000)}`;
    const before = await used();
    await open(request);
    const [socket] = await connected;
    await eventually(() => {
      expect(socket.bytesRead).toBe(request.length);
    });
    expect((await used()) - before).toBeLessThan(6 * MIB);
  });

  it('of a request that has none is not kept', async () => {
    await open(`GET /late HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n123456789`);
    await eventually(() => {
      expect(kept).toBe(0);
    });
    answer();
  });
});

describe('bodies whose requests are not answered', () => {
  /** Four of them are half of the room. */
  const TEXT = 'x'.repeat(LIMIT / 2);

  const declared = (path = '/') =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${JSON_HEADERS}Content-Length: ${TEXT.length}\r\n`;

  async function wait(org: string, requests: number): Promise<readonly Socket[]> {
    const request = `${declared('/late')}X-Org: ${org}\r\n\r\n${TEXT}`;
    const before = waiting;
    const sent = await Promise.all(Array.from({ length: requests }, () => open(request)));
    await eventually(() => {
      expect(waiting).toBe(before + requests);
    });
    return sent;
  }

  it('take room, and a caller gets no more than half of what the others leave', async () => {
    await wait('one', 4);
    expect(await post(TEXT, 'one')).toBe(429);
    await wait('two', 2);
    expect(await post(TEXT, 'two')).toBe(429);
    expect(await post('x'.repeat(LIMIT), 'three')).toBe(503);
    expect(await post(TEXT, 'three')).toBe(200);
  });

  it('give their room back with the answer, or when the caller is gone', async () => {
    const [gone] = await wait('one', 4);
    gone!.destroy();
    await eventually(async () => {
      expect(await post(TEXT, 'one')).toBe(200);
    });
    expect(await post('x'.repeat(LIMIT), 'one')).toBe(429);
    answer();
    await eventually(async () => {
      expect(await post('x'.repeat(LIMIT), 'one')).toBe(200);
    });
  });

  it('take room while they arrive', async () => {
    for (const framing of [`Content-Length: ${LIMIT}\r\n`, 'Transfer-Encoding: chunked\r\n']) {
      await open(
        `POST / HTTP/1.1\r\nHost: localhost\r\nX-Org: one\r\n${JSON_HEADERS}${framing}\r\n${chunk('x'.repeat(LIMIT - 99))}`,
      );
    }
    await eventually(async () => {
      expect(await post('x', 'one')).toBe(429);
    });
  });

  it('give their room back when they break off', async () => {
    const parts = [`Content-Length: ${LIMIT}\r\n\r\n{`, `Transfer-Encoding: chunked\r\n\r\n${chunk(TEXT)}`];
    for (const part of [...parts, ...parts]) {
      (await open(`POST / HTTP/1.1\r\nHost: localhost\r\nX-Org: one\r\n${JSON_HEADERS}${part}`)).destroy();
    }
    await eventually(async () => {
      expect(await post('x'.repeat(LIMIT), 'one')).toBe(200);
    });
  });

  it('are refused once they are over, so that their caller reads the answer', async () => {
    await wait('one', 4);
    const socket = await open(`${declared()}X-Org: one\r\n\r\n${TEXT.slice(1)}`);
    const status = statusOf(socket);
    expect(await Promise.race([status, delay(300, 'nothing')])).toBe('nothing');
    socket.write('x');
    expect(await status).toMatch(/^429[^]*wait for their answers/);
  });
});
