import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { systemClock } from '#libs/domain';
import { parseNetworks, parsePorts } from '#libs/runtime';
import { checkEndpointAddress } from '../resolve-endpoint-address.js';
import { createResolver, type Resolver } from '../resolver.js';
import { freePort } from '../../../../../test/support/free-port.js';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import { makeCertificates, type TestCertificates } from '../../../../../test/support/certificates.js';
import { oneTo } from '../../../../../test/support/sequence.js';
import { startDnsServer, type TestDnsServer } from '../testing/dns-server.js';
import { reset, startReceiver, type Behaviour, type ReceiverOptions, type TestReceiver } from '../testing/receiver.js';
import { createPushClient, type PushClient, type PushClientOptions } from './push-client.js';
import type { PushOutcome, PushRequest } from './push-attempt.js';

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
/** The time limit of what is to succeed, even while a busy machine stands still for a moment. */
const PATIENCE_MS = 30_000;
/** The time limit of what begins, and then takes too long: long enough to begin on a busy machine. */
const UNTIL_BEGUN_MS = 6_000;
const answer =
  (text: string): Behaviour =>
  (socket) => {
    socket.write(text, 'latin1');
  };

/** Sends it again and again, as fast as it is read. */
const endless =
  (text: string, onSent: (bytes: number) => void = () => undefined): Behaviour =>
  (socket) => {
    const chunk = Buffer.from(text.repeat(1_000), 'latin1');
    const more = (): void => {
      let hasRoom = true;
      while (hasRoom && !socket.destroyed) {
        onSent(chunk.length);
        hasRoom = socket.write(chunk);
      }
    };
    socket.on('drain', more);
    more();
  };

let cleanUps: (() => Promise<void>)[] = [];
let dns: TestDnsServer;
let resolver: Resolver;

beforeEach(async () => {
  cleanUps = [];
  dns = await startDnsServer();
  cleanUps.push(() => dns.close());
  resolver = createResolver({ dnsServers: [dns.address], timeoutMs: PATIENCE_MS });
});

afterEach(async () => {
  jest.restoreAllMocks();
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
});

async function receiver(behaviour: Behaviour, options?: ReceiverOptions): Promise<TestReceiver> {
  const started = await startReceiver(behaviour, options);
  cleanUps.push(() => started.close());
  return started;
}

function client(options: Partial<PushClientOptions> = {}): PushClient {
  const created = createPushClient({
    resolver,
    allowedNetworks: parseNetworks('127.0.0.0/8'),
    allowHttp: true,
    clock: systemClock,
    ...options,
  });
  cleanUps.push(() => created.close());
  return created;
}

function aRequest(url: string | TestReceiver, changes: Partial<PushRequest> = {}): PushRequest {
  return {
    url: typeof url === 'string' ? url : `http://127.0.0.1:${url.port}/hook?x=1`,
    headers: () => ({ 'content-type': 'application/json', 'X-Service-Event': 'test' }),
    body: Buffer.from('{"id":"evt_1"}'),
    timeoutMs: PATIENCE_MS,
    ...changes,
  };
}

/** Blocks the thread until well after this time limit. */
function standStill(timeoutMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, timeoutMs + 500);
}

/** Starts a receiver on another thread, which goes on while this one stands still. @returns its port */
async function answersElsewhere(afterMs: number): Promise<number> {
  const program = `
    const { parentPort } = require('node:worker_threads');
    const server = require('node:http').createServer((request, response) => {
      setTimeout(() => response.end('ok'), ${afterMs});
    });
    server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
  `;
  const worker = new Worker(program, { eval: true });
  cleanUps.push(async () => {
    await worker.terminate();
  });
  const [port] = (await once(worker, 'message')) as [number];
  return port;
}

/** Expects that a request fails while its connection is open, is sent once, and leaves no connection. */
async function expectBroken(server: TestReceiver, detail: string, changes: Partial<PushRequest> = {}): Promise<void> {
  const outcome = await client().post(aRequest(server, changes));
  expect(outcome).toEqual({
    kind: 'failed',
    error: 'connect',
    detail,
    startedAtMs: expect.any(Number),
    durationMs: expect.any(Number),
  });
  await eventually(() => {
    expect(server.open()).toBe(0);
  });
  expect(server.requests).toHaveLength(1);
}

/** Calls `write` every so often until the socket is closed. */
function drip(socket: Socket, everyMs: number, write: () => void): void {
  const timer = setInterval(write, everyMs);
  socket.on('close', () => {
    clearInterval(timer);
  });
}

describe('an answer', () => {
  it('gives the status and the start of the body; the request carries body and headers as given', async () => {
    const server = await receiver(answer(OK));
    const outcome = await client().post(aRequest(server));
    expect(outcome).toEqual({
      kind: 'answered',
      status: 200,
      startedAtMs: expect.any(Number),
      durationMs: expect.any(Number),
      untilEndMs: expect.any(Number),
      responseExcerpt: 'ok',
    });
    const [request = ''] = server.requests;
    expect(request.startsWith('POST /hook?x=1 HTTP/1.1\r\n')).toBe(true);
    expect(request).toContain(`host: 127.0.0.1:${server.port}\r\n`);
    expect(request).toContain('X-Service-Event: test\r\n');
    expect(request).toContain('content-length: 14\r\n');
    expect(request.endsWith('\r\n\r\n{"id":"evt_1"}')).toBe(true);
  });

  it.each([204, 301, 302, 307, 308, 400, 410, 429, 500, 503])('with status %i is given as it is', async (status) => {
    const elsewhere = await receiver(answer(OK));
    const server = await receiver(
      answer(`HTTP/1.1 ${status} X\r\nlocation: http://127.0.0.1:${elsewhere.port}/\r\ncontent-length: 0\r\n\r\n`),
    );
    await expect(client().post(aRequest(server))).resolves.toMatchObject({ kind: 'answered', status });
    expect([server.requests.length, elsewhere.connections()]).toEqual([1, 0]);
  });

  it.each([
    ['103 Early Hints', 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'],
    ['102 Processing', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['100 Continue that nobody asked for', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['several of them', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\nx: y\r\n\r\nHTTP/1.1 103 X\r\n\r\n'],
  ])('may come after %s', async (_name, before) => {
    const server = await receiver(answer(before + OK));
    const push = client();
    for (let i = 0; i < 2; i++) {
      await expect(push.post(aRequest(server))).resolves.toMatchObject({ status: 200, responseExcerpt: 'ok' });
    }
    expect(server.connections()).toBe(1);
  });

  it('may come byte by byte, 100 Continue included', async () => {
    const server = await receiver((socket) => {
      const bytes = Array.from(`HTTP/1.1 100 Continue\r\n\r\n${OK}`);
      socket.setNoDelay(true);
      drip(socket, 1, () => {
        const byte = bytes.shift();
        if (byte !== undefined) socket.write(byte);
      });
    });
    await expect(client().post(aRequest(server))).resolves.toMatchObject({ status: 200, responseExcerpt: 'ok' });
  });

  it('is not unpacked: a gzip bomb is some bytes of noise', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024));
    const server = await receiver((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`);
      socket.write(bomb);
    });
    const outcome = await client().post(aRequest(server));
    expect(outcome).toMatchObject({ kind: 'answered', status: 200 });
    const excerpt = outcome.kind === 'answered' ? outcome.responseExcerpt : '';
    expect(Buffer.byteLength(excerpt)).toBeLessThanOrEqual(1024);
    expect(excerpt).not.toContain('\u0000');
  });

  it('that repeats a secret of the request is shown without it', async () => {
    const server = await receiver(answer('HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{"got":"let-me-in!"}'));
    const outcome = await client().post(
      aRequest(server, {
        headers: () => ({ 'x-key': 'let-me-in!' }),
        secretHeaders: { signatures: [], values: ['x-key'] },
      }),
    );
    expect(outcome).toMatchObject({ status: 200, responseExcerpt: '{"got":"[hidden]"}' });
  });

  it('whose body never ends is cut at 16 KiB, and the connection is dropped', async () => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    let sent = 0;
    const server = await receiver((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${1024 ** 3}\r\n\r\n`);
      const more = (): void => {
        while (sent < 1024 ** 3 && !socket.destroyed) {
          sent += chunk.length;
          if (!socket.write(chunk)) return;
        }
      };
      socket.on('drain', more);
      more();
    });
    const before = process.memoryUsage().rss;
    const outcome = await client().post(aRequest(server));
    expect(outcome).toMatchObject({ kind: 'answered', status: 200, responseExcerpt: 'x'.repeat(1024) });
    await eventually(() => {
      expect(server.open()).toBe(0);
    });
    expect(sent).toBeLessThan(64 * 1024 * 1024);
    expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 * 1024);
  });

  it('whose chunks have endless heads is cut as well', async () => {
    let sent = 0;
    const chunks = endless(`1;${'e'.repeat(2_000)}\r\na\r\n`, (bytes) => (sent += bytes));
    const server = await receiver((...given) => {
      given[0].write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      chunks(...given);
    });
    await expect(client().post(aRequest(server))).resolves.toMatchObject({ kind: 'answered', status: 200 });
    await eventually(() => {
      expect(server.open()).toBe(0);
    });
    // What the sockets hold, and far less than the 32 MB around 16 KiB of such chunks.
    expect(sent).toBeLessThan(12_000_000);
  });

  it('whose body is 16 KiB is read to its end, so that the connection can be used again', async () => {
    const server = await receiver(answer(`HTTP/1.1 200 OK\r\ncontent-length: 16384\r\n\r\n${'x'.repeat(16384)}`));
    const push = client();
    await push.post(aRequest(server));
    await push.post(aRequest(server));
    expect(server.connections()).toBe(1);
  });

  it('with a body that drips is answered with its status when the time is over', async () => {
    const server = await receiver((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n');
      drip(socket, 20, () => socket.write('.'));
    });
    const outcome = await client().post(aRequest(server, { timeoutMs: UNTIL_BEGUN_MS }));
    expect(outcome).toMatchObject({ kind: 'answered', status: 200, responseExcerpt: expect.stringMatching(/^\.+$/) });
    await eventually(() => {
      expect(server.open()).toBe(0);
    });
  });

  it.each([
    ['is cut short', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart'],
    ['breaks the rules of chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\npart\r\nzz\r\n'],
    ['ends with the connection', 'HTTP/1.1 200 OK\r\n\r\npart'],
  ])('with a body that %s is answered with its status', async (_name, text) => {
    const server = await receiver((socket) => {
      socket.end(text);
    });
    const outcome = await client().post(aRequest(server));
    expect(outcome).toMatchObject({ kind: 'answered', status: 200, responseExcerpt: 'part' });
  });

  it('takes as long as its headers take, and ends with its body', async () => {
    const server = await receiver((socket) => {
      setTimeout(() => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n'), 100);
      setTimeout(() => socket.write('ok'), 400);
    });
    const outcome = await client().post(aRequest(server));
    expect(outcome).toMatchObject({ kind: 'answered', responseExcerpt: 'ok' });
    expect(outcome.durationMs).toBeGreaterThanOrEqual(99);
    const { untilEndMs } = outcome as Extract<PushOutcome, { readonly kind: 'answered' }>;
    expect(outcome.durationMs + untilEndMs).toBeGreaterThanOrEqual(397);
  });

  it('counts if it came in time, although the process stood still until the time was over', async () => {
    const port = await answersElsewhere(100);
    const onSent = () => {
      setImmediate(standStill, UNTIL_BEGUN_MS);
    };
    const outcome = await client().post(aRequest(`http://127.0.0.1:${port}/`, { timeoutMs: UNTIL_BEGUN_MS, onSent }));
    expect(outcome).toMatchObject({ kind: 'answered', status: 200, responseExcerpt: 'ok' });
  });

  it('takes no longer if the clock is set meanwhile', async () => {
    let nowMs = 0;
    const server = await receiver((socket) => {
      nowMs += 40 * 86_400_000;
      socket.write(OK);
    });
    const outcome = await client({ clock: { now: () => nowMs } }).post(aRequest(server));
    expect(outcome).toMatchObject({ kind: 'answered', startedAtMs: 0 });
    expect(outcome.durationMs).toBeLessThanOrEqual(10_000);
  });
});

describe('an answer whose body is needed', () => {
  const needsBody = true;
  const HEAD = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n';
  const LAST = 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 100\r\n\r\npart';
  const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
  const closed = 'the connection was closed within the answer';
  const tooLong = 'the answer is longer than 16 KiB';
  const ofLength = (length: number) => `HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n${'x'.repeat(length)}`;

  it.each<[string, Behaviour, string]>([
    ['is cut short', (socket) => socket.end(`${HEAD}part`), closed],
    ['is cut short, and the last one', (socket) => socket.end(LAST), closed],
    [
      'is the last one, and has no last chunk',
      (socket) => socket.end(CHUNKED.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n4\r\npart\r\n')),
      'the answer is not valid HTTP/1.1',
    ],
    ['has no byte', (socket) => socket.end(HEAD), closed],
    ['has no last chunk', (socket) => socket.end(`${CHUNKED}4\r\npart\r\n`), closed],
    ['breaks the rules of chunks', answer(`${CHUNKED}4\r\npart\r\nzz\r\n`), 'the answer is not valid HTTP/1.1'],
    ['is longer than 16 KiB', answer(ofLength(16_385)), tooLong],
    ['has endless chunks', answer(`${CHUNKED}${`1;${'e'.repeat(2_000)}\r\na\r\n`.repeat(20)}`), tooLong],
    [
      'is reset',
      (socket) => {
        socket.write(`${HEAD}part`, () => {
          void reset(socket);
        });
      },
      'the connection was reset within the answer',
    ],
    [
      'is reset, and has no length',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\n\r\npart', () => {
          void reset(socket);
        });
      },
      'the connection was reset within the answer',
    ],
  ])('and that %s is connect', async (_name, behaviour, detail) => {
    const server = await receiver(behaviour);
    await expectBroken(server, detail, { needsBody });
  });

  it('and that is silent after its headers is timeout', async () => {
    const server = await receiver(answer(HEAD));
    const outcome = await client().post(aRequest(server, { needsBody, timeoutMs: UNTIL_BEGUN_MS }));
    expect(outcome).toMatchObject({ kind: 'failed', error: 'timeout', detail: 'no end of the answer within 6000 ms' });
    await eventually(() => {
      expect(server.open()).toBe(0);
    });
  });

  it.each([
    ['its length', OK, 'ok'],
    ['chunks', `${CHUNKED}2\r\nok\r\n0\r\n\r\n`, 'ok'],
    ['nothing', 'HTTP/1.1 204 No Content\r\n\r\n', ''],
    ['a byte order mark', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n\xef\xbb\xbfok', 'ok'],
    ['control characters', 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n{\r\t}', '{\r\t}'],
    ['16 KiB', ofLength(16_384), 'x'.repeat(16_384)],
  ])('comes whole with %s', async (_name, text, body) => {
    const server = await receiver(answer(text));
    await expect(client().post(aRequest(server, { needsBody }))).resolves.toMatchObject({ kind: 'answered', body });
  });

  it('comes whole with the end of the connection', async () => {
    const server = await receiver((socket) => {
      socket.end('HTTP/1.1 200 OK\r\n\r\nok');
    });
    await expect(client().post(aRequest(server, { needsBody }))).resolves.toMatchObject({ body: 'ok' });
  });

  it('is not needed with any other status', async () => {
    const server = await receiver((socket) => {
      socket.end(HEAD.replace('200 OK', '410 Gone') + 'part');
    });
    const outcome = await client().post(aRequest(server, { needsBody }));
    expect(outcome).toMatchObject({ kind: 'answered', status: 410, responseExcerpt: 'part' });
    expect(outcome).not.toHaveProperty('body');
  });
});

describe('a failure', () => {
  type Case = readonly [name: string, behaviour: Behaviour, detail: string];
  const closed = 'the connection was closed before the answer';
  const beforeBody = 'the answer has more than 20 KiB before its body';
  const notHttp = 'the answer is not valid HTTP/1.1';
  const cases: readonly Case[] = [
    ['closes the socket', (socket) => socket.end(), closed],
    ['resets the socket', (socket) => socket.resetAndDestroy(), 'the connection was reset before the answer'],
    ['closes within the status line', (socket) => socket.end('HTTP/1.1 2'), closed],
    ['closes within the headers', (socket) => socket.end('HTTP/1.1 200 OK\r\nx: y\r\n'), closed],
    ['closes after 100 Continue', (socket) => socket.end('HTTP/1.1 100 Continue\r\n\r\n'), closed],
    ['answers 101 and closes', (socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n'), notHttp],
    [
      'switches protocols',
      (socket) => socket.end('HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
      closed,
    ],
    ['answers no HTTP', answer('SSH-2.0-OpenSSH_9.2\r\n'), notHttp],
    ['answers a bad status', answer('HTTP/1.1 XYZ OK\r\n\r\n'), notHttp],
    ['answers HTTP/9.9', answer('HTTP/9.9 200 OK\r\n\r\n'), notHttp],
    [
      'smuggles with two lengths',
      answer('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nabc'),
      notHttp,
    ],
    [
      'sends huge headers',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\n');
        for (let i = 0; i < 100; i++) socket.write(`x-${i}: ${'y'.repeat(1000)}\r\n`);
      },
      'the response headers are larger than 16 KiB',
    ],
    [
      'sends one huge header',
      answer(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(1_000_000)}`),
      'the response headers are larger than 16 KiB',
    ],
    ['sends 100,000 small headers', answer(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(100_000)}\r\n`), beforeBody],
    ['sends 100 without end', endless('HTTP/1.1 100 Continue\r\n\r\n'), beforeBody],
    ['sends 103 without end', endless('HTTP/1.1 103 X\r\na: b\r\n\r\n'), beforeBody],
  ];

  it.each(cases)('of a server that %s is connect, and nothing is sent twice', async (_name, behaviour, detail) => {
    const server = await receiver(behaviour);
    await expectBroken(server, detail);
  });

  it('of a port where nobody listens is connect', async () => {
    const url = `http://127.0.0.1:${await freePort()}/`;
    await expect(client().post(aRequest(url))).resolves.toMatchObject({
      kind: 'failed',
      error: 'connect',
      detail: 'the connection was refused',
    });
  });

  it('of a server that closes each connection at once is connect', async () => {
    const server = await receiver(answer(OK), { onConnection: (socket) => socket.resetAndDestroy() });
    await expect(client().post(aRequest(server))).resolves.toMatchObject({ kind: 'failed', error: 'connect' });
    expect(server.connections()).toBe(1);
  });

  const slow: readonly (readonly [name: string, behaviour: Behaviour])[] = [
    ['hangs', () => undefined],
    [
      'drips its headers',
      (socket) => {
        const bytes = Array.from(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(10_000)}`);
        drip(socket, 20, () => socket.write(bytes.shift() ?? ''));
      },
    ],
    [
      'sends 102 again and again',
      (socket) => {
        drip(socket, 20, () => socket.write('HTTP/1.1 102 Processing\r\n\r\n'));
      },
    ],
    [
      'sends 100 again and again',
      (socket) => {
        drip(socket, 20, () => socket.write('HTTP/1.1 100 Continue\r\n\r\n'));
      },
    ],
  ];

  it('of a server that never gets to its answer is timeout, and the connection is dropped', async () => {
    const detail = 'no response headers within 6000 ms';
    // All at once, since each takes the whole time limit.
    await Promise.all(
      slow.map(async ([name, behaviour]) => {
        const server = await receiver(behaviour);
        const outcome = await client().post(aRequest(server, { timeoutMs: UNTIL_BEGUN_MS }));
        expect({ name, outcome }).toMatchObject({ name, outcome: { kind: 'failed', error: 'timeout', detail } });
        await eventually(() => {
          expect(server.open()).toBe(0);
        });
      }),
    );
  });

  it('of a name that does not resolve is dns', async () => {
    await expect(client().post(aRequest('http://nowhere.example.com/'))).resolves.toMatchObject({
      kind: 'failed',
      error: 'dns',
      detail: 'the name has no address',
    });
  });

  it('of a name without addresses is dns', async () => {
    dns.set('empty.example.com', []);
    await expect(client().post(aRequest('http://empty.example.com/'))).resolves.toMatchObject({ error: 'dns' });
  });

  it('of a name with thousands of addresses is dns', async () => {
    const addresses = oneTo(2_300).map((nth) => `2606:4700::${nth.toString(16)}`);
    const resolve: Resolver['resolve'] = () => Promise.resolve({ kind: 'resolved', addresses });
    const outcome = await client({ resolver: { resolve } }).post(aRequest('http://hooks.example.com/'));
    const detail = 'the name has more than 64 addresses';
    expect(outcome).toMatchObject({ kind: 'failed', error: 'dns', detail });
  });

  it('of name servers that do not answer is dns, and timeout when the time is over before', async () => {
    dns.set('silent.example.com', () => 'silence');
    const impatient = createResolver({ dnsServers: [dns.address], timeoutMs: 1_000 });
    const unanswered = await client({ resolver: impatient }).post(aRequest('http://silent.example.com/'));
    expect(unanswered).toMatchObject({ error: 'dns' });
    const outcome = await client().post(aRequest('http://silent.example.com/', { timeoutMs: 100 }));
    expect(outcome).toMatchObject({ error: 'timeout', detail: 'the name was not resolved within 100 ms' });
  });

  it('is none if the process stood still before the request was sent: it begins again, once', async () => {
    const server = await receiver(answer(OK));
    let looked = 0;
    const post = (times: number, timeoutMs: number) => {
      looked = 0;
      const resolve: Resolver['resolve'] = () => {
        if (looked++ < times) standStill(timeoutMs);
        return Promise.resolve({ kind: 'resolved', addresses: ['127.0.0.1'] });
      };
      const url = `http://hooks.example.com:${server.port}/`;
      return client({ resolver: { resolve } }).post(aRequest(url, { timeoutMs }));
    };
    expect(await post(1, UNTIL_BEGUN_MS)).toMatchObject({ kind: 'answered', status: 200 });
    expect(await post(3, 100)).toMatchObject({ kind: 'failed', error: 'timeout' });
    expect(looked).toBe(2);
  });

  it('of a resolver that rejects is dns', async () => {
    const broken: Resolver = { resolve: () => Promise.reject(new Error('boom')) };
    const outcome = await client({ resolver: broken }).post(aRequest('http://hooks.example.com/'));
    expect(outcome).toMatchObject({ kind: 'failed', error: 'dns' });
  });

  it('of a header that cannot be sent is an outcome, not an exception', async () => {
    const server = await receiver(answer(OK));
    const outcome = await client().post(aRequest(server, { headers: () => ({ 'x-y': 'a\r\nb: c' }) }));
    expect(outcome).toMatchObject({ kind: 'failed', error: 'connect', detail: 'the request cannot be sent' });
    expect(server.requests).toHaveLength(0);
  });
});

describe('an address that is refused', () => {
  it.each([
    'http://127.0.0.1:PORT/',
    'http://2130706433:PORT/',
    'http://0x7f.1:PORT/',
    'http://localhost:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://0.0.0.0:PORT/',
    'http://user@127.0.0.1:PORT/',
  ])('is blocked as %s, and no connection is made', async (url) => {
    const server = await receiver(answer(OK));
    const outcome = await client({ allowedNetworks: [] }).post(aRequest(url.replace('PORT', String(server.port))));
    expect(outcome).toMatchObject({ kind: 'failed', error: 'blocked_address' });
    expect(server.connections()).toBe(0);
  });

  it('is blocked when a name resolves to it', async () => {
    const server = await receiver(answer(OK));
    dns.set('inside.example.com', ['127.0.0.1']);
    const outcome = await client({ allowedNetworks: [] }).post(aRequest(`http://inside.example.com:${server.port}/`));
    // The kind of the address would show what internal names there are.
    expect(outcome).toMatchObject({ error: 'blocked_address', detail: 'an address of the host is not public' });
    expect(server.connections()).toBe(0);
  });

  it('blocks a name that was public at registration and has been rebound since', async () => {
    const server = await receiver(answer(OK));
    dns.set('rebind.example.com', (asked) => [asked === 0 ? '8.8.8.8' : '127.0.0.1']);
    const url = `http://rebind.example.com:${server.port}/`;
    const rules = { allowHttp: true, allowedNetworks: [] };
    await expect(checkEndpointAddress(url, { ...rules, resolver })).resolves.toMatchObject({ ok: true });
    await expect(client(rules).post(aRequest(url))).resolves.toMatchObject({ error: 'blocked_address' });
    expect(server.connections()).toBe(0);
  });

  it('blocks a name if only one of its addresses is refused, and names none of them', async () => {
    const server = await receiver(answer(OK));
    dns.set('mixed.example.com', ['127.0.0.1', '10.20.30.40']);
    const outcome = await client().post(aRequest(`http://mixed.example.com:${server.port}/`));
    expect(outcome).toMatchObject({ kind: 'failed', error: 'blocked_address' });
    expect(JSON.stringify(outcome)).not.toContain('10.20.30.40');
    expect(server.connections()).toBe(0);
  });

  it('leaves no gap: the connection goes to the address of its one look-up', async () => {
    const server = await receiver(answer(OK));
    dns.set('hooks.example.com', (asked) => [asked === 0 ? '127.0.0.1' : '10.0.0.1']);
    const outcome = await client().post(aRequest(`http://hooks.example.com:${server.port}/`));
    expect(outcome).toMatchObject({ kind: 'answered', status: 200 });
    expect([...dns.questions].sort()).toEqual(['A hooks.example.com', 'AAAA hooks.example.com']);
    expect(server.requests[0]).toContain(`host: hooks.example.com:${server.port}\r\n`);
  });

  it('is looked for again with each new connection', async () => {
    const server = await receiver(answer('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'));
    dns.set('hooks.example.com', (asked) => [asked === 0 ? '127.0.0.1' : '10.0.0.1']);
    const push = client();
    const url = `http://hooks.example.com:${server.port}/`;
    await expect(push.post(aRequest(url))).resolves.toMatchObject({ status: 200 });
    await expect(push.post(aRequest(url))).resolves.toMatchObject({ error: 'blocked_address' });
  });

  it.each(['http://127.0.0.1:PORT/', 'http://denied.example.com:PORT/'])(
    'is blocked in a denied network, whatever is allowed: %s',
    async (url) => {
      const server = await receiver(answer(OK));
      dns.set('denied.example.com', ['127.0.0.1']);
      const rules = { deniedNetworks: parseNetworks('127.0.0.0/24') };
      const outcome = await client(rules).post(aRequest(url.replace('PORT', String(server.port))));
      expect(outcome).toMatchObject({ kind: 'failed', error: 'blocked_address' });
      expect(server.connections()).toBe(0);
    },
  );

  it('is one of a port that is no longer allowed', async () => {
    const server = await receiver(answer(OK));
    const outcome = await client({ ports: parsePorts('443') }).post(aRequest(server));
    expect(outcome).toMatchObject({ kind: 'failed', error: 'blocked_address' });
    expect(server.connections()).toBe(0);
  });

  it('http is blocked where only https is allowed', async () => {
    const server = await receiver(answer(OK));
    await expect(client({ allowHttp: false }).post(aRequest(server))).resolves.toMatchObject({
      error: 'blocked_address',
    });
    expect(server.connections()).toBe(0);
  });
});

describe('a name with several addresses', () => {
  it('is reached at whichever of them answers', async () => {
    const server = await receiver(answer(OK));
    // Nobody listens at 127.0.0.2.
    dns.set('hooks.example.com', ['127.0.0.2', '127.0.0.1']);
    const outcome = await client().post(aRequest(`http://hooks.example.com:${server.port}/`));
    expect(outcome).toMatchObject({ kind: 'answered', status: 200 });
  });
});

describe('TLS', () => {
  let certificates: TestCertificates;
  beforeAll(() => {
    certificates = makeCertificates();
  });

  const post = async (server: TestReceiver, host: string, changes: Partial<PushRequest> = {}): Promise<PushOutcome> => {
    dns.set('hooks.example.com', ['127.0.0.1']);
    return client({ ca: certificates.ca }).post(aRequest(`https://${host}:${server.port}/`, changes));
  };

  it.each(['localhost', '127.0.0.1', 'hooks.example.com', 'hooks.example.com.'])(
    'verifies the certificate for %s',
    async (host) => {
      const server = await receiver(answer(OK), { tls: certificates.valid });
      await expect(post(server, host)).resolves.toMatchObject({ kind: 'answered', status: 200 });
    },
  );

  it.each([
    ['self-signed', 'selfSigned', 'the certificate is self-signed'],
    ['for another host', 'wrongHost', 'the certificate is for another host'],
    ['expired', 'expired', 'the certificate has expired'],
  ] as const)('refuses a certificate that is %s as tls, and sends nothing', async (_name, kind, detail) => {
    const server = await receiver(answer(OK), { tls: certificates[kind] });
    await expect(post(server, 'hooks.example.com')).resolves.toMatchObject({ kind: 'failed', error: 'tls', detail });
    await expect(post(server, '127.0.0.1')).resolves.toMatchObject({ kind: 'failed', error: 'tls', detail });
    expect(server.requests).toHaveLength(0);
  });

  it.each<[string, Omit<TlsOptions, 'key' | 'cert'>]>([
    ['1.2', { maxVersion: 'TLSv1.2', ciphers: 'DHE-RSA-AES128-GCM-SHA256', dhparam: 'auto' }],
    ['1.3', { minVersion: 'TLSv1.3', ecdhCurve: 'ffdhe2048' }],
  ])('%s of a receiver that wants a finite-field group fails as tls', async (_version, options) => {
    const server = await receiver(answer(OK), { tls: { ...certificates.rsa, ...options } });
    const push = client({ ca: certificates.rsa.cert });
    await expect(push.post(aRequest(`https://localhost:${server.port}/`))).resolves.toMatchObject({
      kind: 'failed',
      error: 'tls',
      detail: 'the receiver refused the TLS handshake',
    });
    expect(server.requests).toHaveLength(0);
  });

  it('refuses a handshake of more than 16 KiB before it verifies the chain, and sends nothing', async () => {
    const chain = (length: number) => certificates.valid.cert + certificates.ca.repeat(length);
    const server = await receiver(answer(OK), { tls: { ...certificates.valid, cert: chain(15) } });
    await expect(post(server, 'localhost')).resolves.toMatchObject({ kind: 'answered', status: 200 });
    const longer = await receiver(answer(OK), { tls: { ...certificates.valid, cert: chain(60) } });
    await expect(post(longer, 'localhost')).resolves.toMatchObject({
      kind: 'failed',
      error: 'tls',
      detail:
        'the TLS handshake has more than 16 KiB: the certificate chain or the list of client authorities is too long',
    });
    expect(longer.requests).toHaveLength(0);
    await eventually(() => {
      expect(longer.open()).toBe(0);
    });
  });

  it('bounds no answers by the handshake', async () => {
    const body = 'x'.repeat(15_000);
    const server = await receiver(answer(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`), {
      tls: certificates.valid,
    });
    const push = client({ ca: certificates.ca });
    for (let nth = 0; nth < 3; nth++) {
      await expect(
        push.post(aRequest(`https://localhost:${server.port}/`, { needsBody: true })),
      ).resolves.toMatchObject({ status: 200, body });
    }
    expect(server.connections()).toBe(1);
  });

  it('refuses an answer of many small records', async () => {
    const server = await receiver(
      (socket) => {
        const more = (): void => {
          // Each byte is a record of its own, of 23 bytes.
          if (!socket.destroyed) socket.write('a', more);
        };
        socket.write('HTTP/1.1 200 OK\r\nx: ', more);
      },
      { tls: certificates.valid },
    );
    await expect(post(server, 'localhost')).resolves.toMatchObject({
      kind: 'failed',
      error: 'tls',
      detail: 'the answer has more than 128 KiB of TLS records',
    });
    await eventually(() => {
      expect(server.open()).toBe(0);
    });
  });

  it('gives the whole answer of a server that closes after it', async () => {
    const body = 'x'.repeat(16_000);
    const server = await receiver(
      (socket) => {
        socket.end(`HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n${body}`);
      },
      { tls: certificates.valid },
    );
    await expect(post(server, 'localhost', { needsBody: true })).resolves.toMatchObject({ status: 200, body });
    await eventually(() => {
      expect(server.open()).toBe(0);
    });
  });

  it('refuses an authority that is not trusted', async () => {
    const server = await receiver(answer(OK), { tls: certificates.valid });
    const outcome = await client().post(aRequest(`https://localhost:${server.port}/`));
    expect(outcome).toMatchObject({ kind: 'failed', error: 'tls' });
  });

  it('of a port that speaks plain HTTP fails as tls', async () => {
    const server = await receiver(answer(OK), {
      onConnection: (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
    });
    await expect(post(server, 'localhost')).resolves.toMatchObject({
      error: 'tls',
      detail: 'the port does not speak TLS',
    });
  });

  it('of a server that closes within the handshake fails as connect', async () => {
    const server = await receiver(answer(OK), { onConnection: (socket) => socket.resetAndDestroy() });
    await expect(post(server, 'localhost')).resolves.toMatchObject({ kind: 'failed', error: 'connect' });
  });

  it('of a server that is silent within the handshake fails as timeout', async () => {
    const server = await receiver(answer(OK));
    await expect(post(server, 'localhost', { timeoutMs: UNTIL_BEGUN_MS })).resolves.toMatchObject({
      error: 'timeout',
      detail: 'no TLS handshake within 6000 ms',
    });
    await eventually(() => {
      expect(server.open()).toBe(0);
    });
  });
});

describe('connections', () => {
  it('are kept and used again', async () => {
    const server = await receiver(answer(OK));
    const push = client();
    for (let i = 0; i < 5; i++) await push.post(aRequest(server));
    expect([server.requests.length, server.connections()]).toEqual([5, 1]);
  });

  it('are as many as there are posts at a time: none waits for a slow one of another endpoint', async () => {
    const server = await receiver((socket, _request, nth) => {
      if (nth >= 600) socket.write(OK);
    });
    const push = client();
    const controller = new AbortController();
    const slow = Array.from({ length: 600 }, () => push.post(aRequest(server, { signal: controller.signal })));
    await eventually(() => {
      expect(server.requests.length).toBe(600);
    });
    expect(await push.post(aRequest(server))).toMatchObject({ kind: 'answered', status: 200 });
    controller.abort();
    await Promise.all(slow);
  });

  it('are replaced when the server closes them while they are idle', async () => {
    const sockets: Socket[] = [];
    const server = await receiver((socket) => {
      sockets.push(socket);
      socket.write(OK);
    });
    const push = client();
    await push.post(aRequest(server));
    sockets[0]?.end();
    await eventually(() => {
      expect(server.open()).toBe(0);
    });
    await expect(push.post(aRequest(server))).resolves.toMatchObject({ kind: 'answered' });
    expect([server.requests.length, server.connections()]).toEqual([2, 2]);
  });

  it('that close when the next request comes are connect: it is not sent a second time', async () => {
    const server = await receiver((socket, _request, nth) => {
      if (nth === 0) socket.write(OK);
      else socket.destroy();
    });
    const push = client();
    await push.post(aRequest(server));
    await expect(push.post(aRequest(server))).resolves.toMatchObject({ kind: 'failed', error: 'connect' });
    expect(server.requests).toHaveLength(2);
  });

  it('are not used again after a reset that ended an answer: the next answer is not taken for a broken one', async () => {
    const server = await receiver((socket, _request, nth) => {
      if (nth > 0) socket.write(OK);
      else {
        socket.write('HTTP/1.1 500 Oops\r\n\r\npart', () => {
          void reset(socket);
        });
      }
    });
    const push = client();
    await expect(push.post(aRequest(server, { needsBody: true }))).resolves.toMatchObject({ status: 500 });
    await expect(push.post(aRequest(server, { needsBody: true }))).resolves.toMatchObject({ status: 200, body: 'ok' });
  });

  it('are not used again when they are old, so that a changed name takes effect, whatever the clock says', async () => {
    const server = await receiver(answer(OK));
    let [wallMs, laterMs] = [0, 0];
    const monotonicMs = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => monotonicMs() + laterMs);
    const push = client({ clock: { now: () => wallMs }, maxConnectionAgeMs: 60_000 });
    dns.set('hooks.example.com', (asked) => [asked === 0 ? '127.0.0.1' : '10.0.0.1']);
    const url = `http://hooks.example.com:${server.port}/`;
    await push.post(aRequest(url));
    laterMs = 20_000;
    wallMs = -3_600_000;
    await expect(push.post(aRequest(url))).resolves.toMatchObject({ status: 200 });
    laterMs = 60_000;
    await expect(push.post(aRequest(url))).resolves.toMatchObject({ error: 'blocked_address' });
    expect(server.connections()).toBe(1);
  });

  it('go to the endpoint, not through a proxy of the environment', async () => {
    const proxy = await receiver(answer(OK));
    const server = await receiver(answer(OK));
    const names = [
      'http_proxy',
      'https_proxy',
      'all_proxy',
      'HTTP_PROXY',
      'HTTPS_PROXY',
      'ALL_PROXY',
      'NODE_USE_ENV_PROXY',
    ];
    const before = names.map((name) => [name, process.env[name]] as const);
    for (const name of names)
      process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : `http://127.0.0.1:${proxy.port}`;
    try {
      await client().post(aRequest(server));
    } finally {
      for (const [name, value] of before) {
        if (value === undefined) Reflect.deleteProperty(process.env, name);
        else process.env[name] = value;
      }
    }
    expect([proxy.connections(), server.requests.length]).toEqual([0, 1]);
  });
});

describe('a signal', () => {
  it('ends the attempt at once', async () => {
    const server = await receiver(() => undefined);
    const controller = new AbortController();
    const post = client().post(aRequest(server, { signal: controller.signal }));
    await eventually(() => {
      expect(server.requests.length).toBe(1);
    });
    controller.abort();
    await expect(post).resolves.toMatchObject({ kind: 'failed', error: 'connect', detail: 'the attempt was ended' });
    await eventually(() => {
      expect(server.open()).toBe(0);
    });
  });

  it('ends an attempt that has not begun', async () => {
    const server = await receiver(() => undefined);
    await expect(client().post(aRequest(server, { signal: AbortSignal.abort() }))).resolves.toMatchObject({
      kind: 'failed',
      detail: 'the attempt was ended',
    });
    expect(server.requests).toHaveLength(0);
  });
});

describe('close', () => {
  it('lets posts in flight end, refuses new ones, and closes all connections', async () => {
    let socket: Socket | undefined;
    const server = await receiver((connected, _request, nth) => {
      if (nth === 0) connected.write(OK);
      else socket = connected;
    });
    const push = client();
    await push.post(aRequest(server));
    const inFlight = push.post(aRequest(server));
    await eventually(() => {
      expect(socket).toBeDefined();
    });
    const closed = push.close();
    await expect(push.post(aRequest(server))).resolves.toMatchObject({
      kind: 'failed',
      detail: 'the sender is stopping',
    });
    socket?.write(OK);
    await expect(inFlight).resolves.toMatchObject({ kind: 'answered' });
    await closed;
    await eventually(() => {
      expect(server.open()).toBe(0);
    });
  });

  it('is done at once when nothing is in flight', async () => {
    const server = await receiver(answer(OK));
    const push = client();
    await push.post(aRequest(server));
    await push.close();
    await push.close();
    await eventually(() => {
      expect(server.open()).toBe(0);
    });
  });
});
