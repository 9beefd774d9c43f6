import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { systemClock } from '#libs/domain';
import { parseNetworks } from '#libs/runtime';
import { aDueAttempt } from '../../../../../test/support/due-attempts.js';
import { freePort } from '../../../../../test/support/free-port.js';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import { HttpDestination } from '../http-destination.js';
import { AccessTokens } from '../oauth/access-tokens.js';
import { createResolver } from '../resolver.js';
import { makeCertificates, type TestCertificates } from '../../../../../test/support/certificates.js';
import { startDnsServer, type TestDnsServer } from '../testing/dns-server.js';
import { startProxy, type ProxyOptions, type TestProxy } from '../testing/proxy.js';
import { startReceiver, type ReceiverOptions, type TestReceiver } from '../testing/receiver.js';
import type { EgressProxyOptions } from './egress-proxy.js';
import type { PushOutcome, PushRequest } from '../push/push-attempt.js';
import { createPushClient, type PushClient } from '../push/push-client.js';

/** The time limit of a push: longer than a busy machine stands still for. */
const LIMIT_MS = 30_000;
/** The time limit of one whose time is over in the test. */
const SHORT_LIMIT_MS = 4_000;

let certificates: TestCertificates;
let dns: TestDnsServer;
let cleanUps: (() => Promise<void>)[];
let changes: (string | null)[];

beforeAll(() => {
  certificates = makeCertificates();
});

beforeEach(async () => {
  changes = [];
  dns = await startDnsServer();
  cleanUps = [() => dns.close()];
});

afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
});

async function receiver(options?: ReceiverOptions): Promise<TestReceiver> {
  const started = await startReceiver(
    (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'),
    options,
  );
  cleanUps.push(() => started.close());
  return started;
}

async function proxy(options?: ProxyOptions): Promise<TestProxy> {
  const started = await startProxy(options);
  cleanUps.push(() => started.close());
  return started;
}

interface SilentServer {
  readonly port: number;
  /** How many `CONNECT` requests came so far. */
  readonly connects: () => number;
  close(): Promise<void>;
}

/** Takes connections and answers nothing. */
async function silentServer(port?: number): Promise<SilentServer> {
  const sockets: Socket[] = [];
  let connects = 0;
  const server = createTcpServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    socket.once('data', (asked) => {
      if (asked.toString().startsWith('CONNECT')) connects++;
    });
  });
  const own = port ?? (await freePort());
  await new Promise<void>((resolve) => server.listen(own, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => {
        resolve();
      });
      for (const socket of sockets) socket.destroy();
    });
  cleanUps.push(close);
  return { port: own, connects: () => connects, close };
}

/** Until a push has found that nothing listens: no request is cut after that. */
async function untilAway(): Promise<void> {
  await eventually(() => {
    expect(changes).toHaveLength(1);
  });
}

function client(url: string, options: Partial<EgressProxyOptions> = {}): PushClient {
  const created = createPushClient({
    resolver: createResolver({ dnsServers: [dns.address], timeoutMs: 30_000 }),
    allowedNetworks: parseNetworks('127.0.0.0/8'),
    allowHttp: true,
    clock: systemClock,
    ca: certificates.ca,
    egressProxy: { url, probeEveryMs: 20, onChange: (reason) => changes.push(reason), ...options },
  });
  cleanUps.push(() => created.close());
  return created;
}

function push(
  by: PushClient,
  url: string,
  { timeoutMs = LIMIT_MS, signal }: Partial<Pick<PushRequest, 'timeoutMs' | 'signal'>> = {},
): Promise<PushOutcome> {
  return by.post({ url, headers: () => ({}), body: Buffer.from('{}'), timeoutMs, signal });
}

const delivered = expect.objectContaining({ kind: 'answered', status: 200, responseExcerpt: 'ok' }) as unknown;

function failed(detail: string, error = 'connect'): unknown {
  return expect.objectContaining({ kind: 'failed', error, detail });
}

describe('a push through a proxy', () => {
  it('goes to the address that was checked, with the TLS of the host name', async () => {
    const there = await receiver({ tls: certificates.valid });
    const through = await proxy();
    dns.set('hooks.example.com', (asked) => [asked === 0 ? '127.0.0.1' : '10.0.0.1']);
    const pushes = client(`http://127.0.0.1:${through.port}`);
    expect(await push(pushes, `https://hooks.example.com:${there.port}/hook`)).toEqual(delivered);
    expect(await push(pushes, `https://hooks.example.com:${there.port}/hook`)).toEqual(delivered);
    expect(through.asked).toEqual([`127.0.0.1:${there.port}`]);
    expect(there.requests[0]).toMatch(/^POST \/hook HTTP\/1\.1\r\nhost: hooks\.example\.com:/i);
  });

  it('goes through a tunnel without TLS, too', async () => {
    const there = await receiver();
    const through = await proxy();
    expect(await push(client(`http://127.0.0.1:${through.port}`), `http://127.0.0.1:${there.port}/`)).toEqual(
      delivered,
    );
    expect(there.requests[0]).toMatch(/^POST \/ HTTP/);
  });

  it('goes through a proxy with TLS that wants a password', async () => {
    const there = await receiver({ tls: certificates.valid });
    const through = await proxy({ tls: certificates.valid });
    const pushes = client(`https://gap%40less:s%3Acret@localhost:${through.port}`, { ca: certificates.ca });
    expect(await push(pushes, `https://127.0.0.1:${there.port}/`)).toEqual(delivered);
    const [{ 'proxy-authorization': authorization = '' } = {}] = through.headers;
    expect(Buffer.from(authorization.replace('Basic ', ''), 'base64').toString()).toBe('gap@less:s:cret');
    expect(there.requests[0]).not.toMatch(/proxy-authorization/i);
  });

  it('is refused by the rules before the proxy is asked', async () => {
    const through = await proxy();
    dns.set('inside.example.com', ['10.0.0.1']);
    const outcome = await push(client(`http://127.0.0.1:${through.port}`), 'https://inside.example.com/');
    expect(outcome).toMatchObject({ kind: 'failed', error: 'blocked_address' });
    expect(through.asked).toEqual([]);
  });

  it('has the certificate of the endpoint verified', async () => {
    const there = await receiver({ tls: certificates.wrongHost });
    const through = await proxy();
    const outcome = await push(client(`http://127.0.0.1:${through.port}`), `https://127.0.0.1:${there.port}/`);
    expect(outcome).toEqual(failed('the certificate is for another host', 'tls'));
  });

  it('bounds the handshake of the endpoint', async () => {
    const cert = certificates.valid.cert + certificates.ca.repeat(60);
    const there = await receiver({ tls: { ...certificates.valid, cert } });
    const through = await proxy();
    const pushes = client(`http://127.0.0.1:${through.port}`, { ca: certificates.ca });
    const outcome = await push(pushes, `https://127.0.0.1:${there.port}/`);
    expect(outcome).toEqual(
      failed(
        'the TLS handshake has more than 16 KiB: the certificate chain or the list of client authorities is too long',
        'tls',
      ),
    );
  });

  it('tries the next address where the proxy cannot reach one', async () => {
    const there = await receiver();
    const through = await proxy({ refuse: (to) => (to.startsWith('127.0.0.1:') ? undefined : 502) });
    dns.set('hooks.example.com', ['127.0.0.2', '127.0.0.1']);
    const outcome = await push(client(`http://127.0.0.1:${through.port}`), `http://hooks.example.com:${there.port}/`);
    expect(outcome).toEqual(delivered);
    expect(through.asked).toHaveLength(2);
  });

  it.each([
    [403, 'the egress proxy answered 403'],
    [503, 'the egress proxy answered 503'],
    [0, 'the egress proxy closed the connection'],
  ])('that the proxy answers with %d has failed', async (status, detail) => {
    const through = await proxy({ refuse: () => status });
    expect(await push(client(`http://127.0.0.1:${through.port}`), 'http://127.0.0.1:8099/')).toEqual(failed(detail));
    expect(changes).toEqual([]);
  });
});

it('a push that the proxy answers with bytes of its own has failed, with one connection', async () => {
  let connections = 0;
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (asked) => {
      if (asked.toString().startsWith('CONNECT')) connections++;
      socket.write('HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const outcome = await push(client(`http://127.0.0.1:${port}`), 'http://127.0.0.1:8099/');
  server.close();
  expect(outcome).toEqual(failed('the egress proxy sent bytes before it was asked for any'));
  expect(connections).toBe(1);
});

describe('while the proxy is away', () => {
  it('or does not accept our user, which is not the endpoint’s fault, pushes wait', async () => {
    const there = await receiver();
    let answers = 0;
    const through = await proxy({ refuse: () => (++answers === 1 ? 407 : undefined) });
    expect(await push(client(`http://127.0.0.1:${through.port}`), `http://127.0.0.1:${there.port}/`)).toEqual(
      delivered,
    );
    expect(changes).toEqual(['the egress proxy does not accept the user of EGRESS_PROXY (407)', null]);
  });

  it('pushes wait, and go on when it is back', async () => {
    const there = await receiver();
    const port = await freePort();
    const pushes = client(`http://127.0.0.1:${port}`);
    const timeoutMs = SHORT_LIMIT_MS;
    const outcomes = Promise.all([1, 2, 3].map(() => push(pushes, `http://127.0.0.1:${there.port}/`, { timeoutMs })));
    await new Promise((resolve) => setTimeout(resolve, SHORT_LIMIT_MS + 300));
    expect(there.requests).toHaveLength(0);
    await proxy({ port });
    expect(await outcomes).toEqual([delivered, delivered, delivered]);
    expect(changes).toEqual(['the egress proxy cannot be reached: ECONNREFUSED', null]);
  });

  it('and takes connections all the same, pushes wait, and go on when it is back', async () => {
    const there = await receiver();
    const frozen = await silentServer();
    // No push tries the proxy again before it is closed: one that is cut twice has failed.
    const pushes = client(`http://127.0.0.1:${frozen.port}`, { probeTimeoutMs: 50, probeEveryMs: 10_000 });
    const timeoutMs = SHORT_LIMIT_MS;
    const outcomes = Promise.all([1, 2, 3].map(() => push(pushes, `http://127.0.0.1:${there.port}/`, { timeoutMs })));
    await eventually(() => {
      expect(changes).toEqual(['the egress proxy does not answer']);
    });
    await frozen.close();
    await proxy({ port: frozen.port });
    expect(await outcomes).toEqual([delivered, delivered, delivered]);
    expect(changes).toEqual(['the egress proxy does not answer', null]);
  });

  it('and takes connections all the same, a push tries it again and again, and has not failed', async () => {
    const there = await receiver();
    const port = await freePort();
    const pushes = client(`http://127.0.0.1:${port}`, { probeTimeoutMs: 20 });
    const url = `http://127.0.0.1:${there.port}/`;
    const request = { url, headers: () => ({}), body: Buffer.from('{}'), timeoutMs: 50 };
    const outcome = pushes.post(request);
    await untilAway();
    const frozen = await silentServer(port);
    await eventually(() => {
      expect(frozen.connects()).toBeGreaterThan(4);
    });
    request.timeoutMs = LIMIT_MS;
    await frozen.close();
    await proxy({ port });
    expect(await outcome).toEqual(delivered);
    expect(there.requests).toHaveLength(1);
  });

  it.each([
    ['attempts', false],
    ['attempts with a token', true],
  ])('and takes connections all the same, %s are not over, however often they try it', async (_, withToken) => {
    const there = await startReceiver((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 23\r\n\r\n{"access_token":"t123"}');
    });
    cleanUps.push(() => there.close());
    const port = await freePort();
    const pushes = client(`http://127.0.0.1:${port}`, { probeTimeoutMs: 20 });
    let timeoutMs = 50;
    const hurried: PushClient = { ...pushes, postNow: (request) => pushes.postNow({ ...request, timeoutMs }) };
    const tokens = new AccessTokens(hurried, LIMIT_MS);
    const destination = new HttpDestination(hurried, tokens, systemClock, 2 * LIMIT_MS);
    const token_url = `http://127.0.0.1:${there.port}/token`;
    const target = {
      url: `http://127.0.0.1:${there.port}/hook`,
      secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKY0=',
      previousSecret: null,
      activation: 1,
      ...(withToken && { oauth2: { type: 'oauth2', token_url, client_id: 'gapless', client_secret: 's' } as const }),
    };
    const due = aDueAttempt();
    const make = () => destination.attempt(due, target, new AbortController().signal);
    expect(await make()).toBeNull();
    await untilAway();
    const frozen = await silentServer(port);
    while (frozen.connects() <= 4) expect(await make()).toBeNull();
    timeoutMs = LIMIT_MS;
    await frozen.close();
    await proxy({ port });
    let outcome = await make();
    while (outcome === null) outcome = await make();
    expect(outcome).toMatchObject({ response: { code: 200 } });
  });

  it('because it dies, what was on its way through it is sent again', async () => {
    let requests = 0;
    const there = await startReceiver((socket) => {
      if (++requests > 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
    });
    cleanUps.push(() => there.close());
    const dying = await proxy();
    const outcome = push(client(`http://127.0.0.1:${dying.port}`), `http://127.0.0.1:${there.port}/`);
    await eventually(() => {
      expect(requests).toBe(1);
    });
    await dying.close();
    await eventually(() => {
      expect(changes).toHaveLength(1);
    });
    await proxy({ port: dying.port });
    expect(await outcome).toEqual(delivered);
    expect(changes).toEqual(['the egress proxy does not answer', null]);
  });

  it('because it dies each time, what was on its way is sent again once', async () => {
    let requests = 0;
    const there = await startReceiver(() => requests++);
    cleanUps.push(() => there.close());
    let dying = await proxy();
    const outcome = push(client(`http://127.0.0.1:${dying.port}`), `http://127.0.0.1:${there.port}/`);
    for (const sent of [1, 2]) {
      await eventually(() => {
        expect(requests).toBe(sent);
      });
      await dying.close();
      await eventually(() => {
        expect(changes.at(-1)).toBe('the egress proxy does not answer');
      });
      dying = await proxy({ port: dying.port });
    }
    expect(await outcome).toMatchObject({ kind: 'failed', error: 'connect' });
    expect(requests).toBe(2);
  });

  it('an endpoint that does not answer is not taken for it', async () => {
    const silent = await silentServer();
    const through = await proxy();
    const pushes = client(`http://127.0.0.1:${through.port}`, { probeTimeoutMs: LIMIT_MS });
    const outcome = await push(pushes, `http://127.0.0.1:${silent.port}/`, { timeoutMs: SHORT_LIMIT_MS });
    expect(outcome).toMatchObject({ kind: 'failed', error: 'timeout' });
    expect(changes).toEqual([]);
  });

  it('because it answers nothing but CONNECT, one push at a time finds out', async () => {
    const [there, silent] = [await receiver(), await silentServer()];
    const through = await proxy({ answersOthers: false });
    const pushes = client(`http://127.0.0.1:${through.port}`, { probeTimeoutMs: 50 });
    void push(pushes, `http://127.0.0.1:${silent.port}/`, { timeoutMs: SHORT_LIMIT_MS });
    await eventually(() => {
      expect(changes).not.toEqual([]);
    });
    expect(await push(pushes, `http://127.0.0.1:${there.port}/`)).toEqual(delivered);
    expect(changes.slice(0, 2)).toEqual(['the egress proxy does not answer', null]);
  });

  it('because it answers nothing but CONNECT, a push that waits before it begins finds out, too', async () => {
    const [there, silent] = [await receiver(), await silentServer()];
    const through = await proxy({ answersOthers: false });
    const pushes = client(`http://127.0.0.1:${through.port}`, { probeTimeoutMs: 50 });
    const request = { headers: () => ({}), body: Buffer.alloc(0) };
    const dead = { ...request, url: `http://127.0.0.1:${silent.port}/`, timeoutMs: 100 };
    expect(await pushes.postNow(dead)).toMatchObject({ kind: 'cut' });
    const { signal } = new AbortController();
    expect(await pushes.whenThere(signal)).toBe(true);
    // The wait has left the try to the push, and to no other.
    expect(await pushes.whenThere(signal)).toBe(false);
    expect(await Promise.race([pushes.whenThere(signal), Promise.resolve('it waits')])).toBe('it waits');
    const alive = { ...request, url: `http://127.0.0.1:${there.port}/`, timeoutMs: LIMIT_MS };
    expect(await pushes.postNow(alive)).toMatchObject({ kind: 'done', outcome: { kind: 'answered' } });
    expect(await pushes.whenThere(signal)).toBe(false);
  });

  it('because it answers nothing but CONNECT, a push with a token that is kept finds out, too', async () => {
    const there = await startReceiver((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 23\r\n\r\n{"access_token":"t123"}');
    });
    cleanUps.push(() => there.close());
    const silent = await silentServer();
    const through = await proxy({ answersOthers: false });
    const pushes = client(`http://127.0.0.1:${through.port}`, { probeTimeoutMs: 50 });
    const destination = new HttpDestination(pushes, new AccessTokens(pushes, LIMIT_MS), systemClock, 2 * LIMIT_MS);
    const token_url = `http://127.0.0.1:${there.port}/token`;
    const target = {
      url: `http://127.0.0.1:${there.port}/hook`,
      secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKY0=',
      previousSecret: null,
      activation: 1,
      oauth2: { type: 'oauth2', token_url, client_id: 'gapless', client_secret: 's' },
    } as const;
    const make = () => destination.attempt(aDueAttempt(), target, new AbortController().signal);
    expect(await make()).toMatchObject({ response: { code: 200 } });
    const dead = {
      url: `http://127.0.0.1:${silent.port}/`,
      headers: () => ({}),
      body: Buffer.alloc(0),
      timeoutMs: 100,
    };
    expect(await pushes.postNow(dead)).toMatchObject({ kind: 'cut' });
    // It waits for its turn, is looked up again, and takes it.
    expect((await make()) ?? (await make())).toMatchObject({ response: { code: 200 } });
    expect(there.requests.filter((request) => request.startsWith('POST /token'))).toHaveLength(1);
  });

  it('pushes end when they are ended, or the client is closed', async () => {
    const port = await freePort();
    const pushes = client(`http://127.0.0.1:${port}`);
    const ending = new AbortController();
    const ended = push(pushes, 'http://127.0.0.1:8099/', { signal: ending.signal });
    const closed = push(pushes, 'http://127.0.0.1:8099/');
    await eventually(() => {
      expect(changes).toHaveLength(1);
    });
    ending.abort();
    expect(await ended).toEqual(failed('the attempt was ended'));
    await pushes.close();
    expect(await closed).toEqual(failed('the sender is stopping'));
  });
});
