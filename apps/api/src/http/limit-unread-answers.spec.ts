import { EventEmitter, once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify';
import type { GaplessError, OrgId } from '#libs/domain';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import type { AuthenticatedKey } from '../auth/authenticated-key.js';
import type { PortalSession } from '../portal/portal-sessions.js';
import { limitPipelining } from './limit-pipelining.js';
import { limitUnreadAnswers } from './limit-unread-answers.js';

/** More than the kernel takes for a client that reads nothing. */
const ANSWER_BYTES = 12 * 1024 * 1024;
const PATH = '/page';
const KEY = 'key';
const PORTAL = 'portal of one';
/** Without its last line. */
const REQUEST = `GET ${PATH} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: ${KEY}\r\n`;

let app: FastifyInstance;
let port: number;
let sockets: Socket[];
let made: number;
let asked: EventEmitter;
/** What was asked for over connections that are closed. */
let closed: string[];

/**
 * @param answers how many of them have room
 * @param deadlineMs how long a client may read one; the usual time by default
 */
async function start(answers: number, deadlineMs?: number): Promise<void> {
  app = fastify();
  limitPipelining(app.server, (_request, response) => response.writeHead(429).end());
  app.decorateRequest('apiKey', null);
  app.decorateRequest('portal', null);
  app.addHook('onRequest', (request, _reply, done) => {
    const ofThisTest = closed;
    request.raw.socket.once('close', () => ofThisTest.push(request.url));
    const quota = request.headers['x-api-key'];
    const orgId = (request.headers['x-org'] ?? null) as OrgId | null;
    request.apiKey = typeof quota === 'string' ? ({ quota, orgId } as AuthenticatedKey) : null;
    request.portal = quota === PORTAL ? ({} as PortalSession) : null;
    done();
  });
  const addressOf = ({ headers }: Pick<FastifyRequest, 'headers'>) => String(headers['x-from']);
  limitUnreadAnswers(app, answers * ANSWER_BYTES, { addressOf }, deadlineMs);
  app.setErrorHandler(({ code, detail }: GaplessError, _request, reply) => reply.code(429).send({ code, detail }));
  app.get(PATH, () => {
    made++;
    return 'x'.repeat(ANSWER_BYTES);
  });
  app.get('/late', async (_request, { raw }) => {
    asked.emit('late');
    await once(raw, 'close');
    asked.emit('gone');
    return 'x'.repeat(ANSWER_BYTES);
  });
  app.get('/stream', (_request, reply) => {
    reply.hijack();
    reply.raw.write('x');
  });
  app.get('/file', (_request, reply) => reply.type('text/javascript').send(Readable.from(manyPieces())));
  app.get('/events', (_request, reply) => reply.type('text/event-stream').send(Readable.from(manyPieces())));
  app.get('/small', () => 'x');
  app.post('/small', () => 'x');
  await app.listen({ port: 0, host: '127.0.0.1' });
  port = (app.server.address() as AddressInfo).port;
}

function* manyPieces(): Generator<string> {
  for (let bytes = 0; bytes < ANSWER_BYTES; bytes += 16 * 1024) yield 'x'.repeat(16 * 1024);
}

beforeEach(async () => {
  [sockets, made, asked, closed] = [[], 0, new EventEmitter(), []];
  await start(2);
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await app.close();
});

/** Asks for the page, and reads nothing of it. */
async function askWithoutReading(path = PATH, header = `X-Api-Key: ${KEY}\r\n`): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' });
  sockets.push(socket);
  await once(socket, 'connect');
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${header}\r\n`);
  return socket;
}

async function statusOf(
  path: string,
  { method = 'GET', headers = { 'x-api-key': KEY } }: RequestInit = {},
): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers });
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

  it.each([
    ['by itself', PATH, ''],
    ['after another answer of the connection', '/stream', `\r\n${REQUEST}`],
  ])('give their room back after the deadline, however they are read: %s', async (_how, path, more) => {
    await app.close();
    await start(2, 500);
    const socket = await askWithoutReading(path, `X-Api-Key: ${KEY}\r\n${more}`);
    const reading = setInterval(() => {
      socket.read(1);
    }, 50);
    try {
      await eventually(() => {
        expect(made).toBe(1);
      });
      const isRead = async () => {
        expect(await statusOf(PATH)).toBe(200);
      };
      // Sooner than after the time in which nothing is read.
      await eventually(isRead, { timeoutMs: 30_000 });
    } finally {
      clearInterval(reading);
    }
  });

  it('end with the deadline if they are files, and do not if they are streams of events', async () => {
    await app.close();
    await start(2, 500);
    await askWithoutReading('/events');
    await askWithoutReading('/file');
    await eventually(() => {
      expect(closed).toEqual(['/file']);
    });
    await delay(1_000);
    expect(closed).toEqual(['/file']);
  });

  it('take no room if the caller was gone before they were made', async () => {
    const [late] = await Promise.all([askWithoutReading('/late'), once(asked, 'late')]);
    const gone = once(asked, 'gone');
    late.destroy();
    await gone;
    for (let n = 0; n < 3; n++) expect(await statusOf(PATH)).toBe(200);
  });

  it('keep nobody from writing', async () => {
    for (let n = 0; n < 3; n++) await askWithoutReading();
    await eventually(async () => {
      expect(await statusOf('/small')).toBe(429);
    });
    expect(await statusOf('/small', { method: 'POST' })).toBe(200);
  });

  it('keep no small answer from callers without a key, such as a check of our health', async () => {
    const headers = {};
    await askWithoutReading(PATH, '');
    await askWithoutReading();
    await eventually(() => {
      expect(made).toBe(2);
    });
    expect(await statusOf(PATH, { headers })).toBe(429);
    expect(await statusOf('/small', { headers })).toBe(200);
  });

  it('do not count if they are small', async () => {
    for (let n = 0; n < 20; n++) expect(await statusOf('/small')).toBe(200);
  });
});

describe('answers that many callers do not read', () => {
  beforeEach(async () => {
    await app.close();
    await start(8);
  });

  /** Asks by each, and waits until all have an answer. */
  async function askByEach(callers: readonly string[]): Promise<void> {
    const before = made;
    for (const header of callers) await askWithoutReading(PATH, header);
    await eventually(() => {
      expect(made).toBe(before + callers.length);
    });
  }

  it('leave a key its own, if the callers have none', async () => {
    await askByEach(Array.from({ length: 12 }, (_, nth) => `X-From: 192.0.2.${nth}\r\n`));
    await askByEach(Array.from({ length: 3 }, () => `X-Api-Key: ${KEY}\r\n`));
    expect(await statusOf(PATH)).toBe(200);
  });

  it('count together for an IPv6 network without a key', async () => {
    await askByEach([1, 2].map((nth) => `X-From: 2001:db8::${nth}\r\n`));
    expect(await statusOf(PATH, { headers: { 'x-from': '2001:db8::3' } })).toBe(429);
    expect(await statusOf(PATH, { headers: { 'x-from': '2001:db8:0:1::1' } })).toBe(200);
  });

  it('leave other organizations theirs, if the callers are keys of one', async () => {
    const by = (nth: number) => `X-Org: one\r\nX-Api-Key: ${nth}\r\n`;
    await askByEach([1, 2, 3, 4, 5, 6, 7, 8].map(by));
    for (const nth of [8, 9]) {
      expect(await statusOf(PATH, { headers: { 'x-org': 'one', 'x-api-key': String(nth) } })).toBe(429);
    }
    await askByEach(['X-Org: other\r\nX-Api-Key: 10\r\n']);
    expect(await statusOf(PATH, { headers: { 'x-org': 'other', 'x-api-key': '11' } })).toBe(200);
  });

  it('are said to be those of other keys if the key has read its own', async () => {
    const keys = [1, 2, 3, 4, 5, 6, 7, 8];
    await askByEach(keys.map((nth) => `X-Org: one\r\nX-Api-Key: ${nth}\r\n`));
    const detailFor = async (key: string) => {
      const headers = { 'x-org': 'one', 'x-api-key': key };
      return ((await (await fetch(`http://127.0.0.1:${port}${PATH}`, { headers })).json()) as GaplessError).detail;
    };
    expect(await detailFor('9')).toMatch(/^Other keys of your organization/);
    expect(await detailFor('8')).toMatch(/^Read the answers that you have asked for/);
  });

  it.each([['1'], [PORTAL]])('keep nothing from another key of the organization: %s', async (slow) => {
    for (let n = 0; n < 5; n++) await askWithoutReading(PATH, `X-Org: one\r\nX-Api-Key: ${slow}\r\n`);
    await eventually(async () => {
      expect(await statusOf('/small', { headers: { 'x-org': 'one', 'x-api-key': slow } })).toBe(429);
    });
    for (const path of ['/small', PATH]) {
      expect(await statusOf(path, { headers: { 'x-org': 'one', 'x-api-key': '2' } })).toBe(200);
    }
  });
});
