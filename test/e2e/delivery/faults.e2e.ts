import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeCertificates, type TestCertificates } from '../../support/certificates.js';
import { collectGarbage } from '../../support/collect-garbage.js';
import { startDnsServer, type TestDnsServer } from '../../../libs/destinations/src/http/testing/dns-server.js';
import {
  startReceiver,
  type Behaviour,
  type ReceiverOptions,
  type TestReceiver,
} from '../../../libs/destinations/src/http/testing/receiver.js';
import { freePort } from '../../support/free-port.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { DeliverySuite } from './support/delivery-suite.js';
import type { WholeDelivery } from './support/operator.js';

const TIMEOUT_MS = 15_000;
/** A retry far beyond the tests: what is seen is one attempt. */
const RETRY_SCHEDULE = '1h';
const GIGABYTE = 1024 ** 3;
/** What the buffers of both ends take of a gigabyte until the connection is dropped; as much may be in memory. */
const A_FEW_MEGABYTES = 32 * 1024 ** 2;

/** The delivery after its one attempt. */
async function attempted(suite: DeliverySuite, url: string): Promise<WholeDelivery> {
  const operator = await suite.anOperator();
  const endpoint = await operator.register({ url, events: ['ticket.created'] });
  await operator.emit({ event: 'ticket.created', data: {} });
  const delivery = await eventually(async () => {
    const [found] = await operator.deliveries(endpoint.id);
    expect(found).toMatchObject({ attempts: 1 });
    return found!;
  });
  expect((await operator.endpoint(endpoint.id)).failure_count).toBe(delivery.status === 'delivered' ? 0 : 1);
  return operator.delivery(endpoint.id, delivery.id);
}

/** Sends a gigabyte as fast as the other end takes it. @returns how much of it has been taken so far */
function sendGigabyte(socket: Socket, head: string): () => number {
  const chunk = Buffer.alloc(64 * 1024, 'x');
  socket.write(head);
  const send = () => {
    while (!socket.destroyed && socket.bytesWritten < GIGABYTE) if (!socket.write(chunk)) return;
  };
  socket.on('drain', send);
  send();
  return () => socket.bytesWritten;
}

/** How much memory this process holds. What it has let go of is not counted. */
async function memory(): Promise<number> {
  await collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe('an attempt that meets a fault is one failed attempt, recorded with its kind (contract 6.3)', () => {
  let certificates: TestCertificates;
  let suite: DeliverySuite;

  beforeAll(async () => {
    // It blocks this process, with the attempts of the other tests in it.
    certificates = makeCertificates();
    suite = await DeliverySuite.start({ RETRY_SCHEDULE, DELIVERY_TIMEOUT: `${TIMEOUT_MS}ms` });
  });

  afterAll(() => suite.stop());

  async function aBrokenReceiver(behaviour: Behaviour, options?: ReceiverOptions): Promise<TestReceiver> {
    return suite.closing(await startReceiver(behaviour, options));
  }

  function expectOneFailure(delivery: WholeDelivery, error: RegExp, status: number | null = null): void {
    expect(delivery).toMatchObject({
      status: 'pending',
      attempts: 1,
      response_status: status,
      last_error: expect.stringMatching(error),
      next_attempt_at: expect.any(String),
      delivered_at: null,
    });
    expect(delivery.attempts_log).toMatchObject([
      { attempt: 1, response_status: status, error: delivery.last_error, duration_ms: expect.any(Number) },
    ]);
  }

  it.concurrent.each<readonly [string, RegExp, Behaviour]>([
    ['closes the connection', /^connect: /, (socket) => socket.end()],
    ['resets the connection', /^connect: /, (socket) => socket.resetAndDestroy()],
    ['closes it in the middle of the head', /^connect: /, (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-le')],
    ['sends a bad status line', /^connect: /, (socket) => socket.write('HTTP/1.1 two hundred\r\n\r\n')],
    ['does not speak HTTP', /^connect: /, (socket) => socket.write('220 mail.example.com ESMTP\r\n')],
    ['sends a head without an end', /^connect: /, (socket) => void sendGigabyte(socket, 'HTTP/1.1 200 OK\r\nx: ')],
    ['never answers', /^timeout: /, () => undefined],
  ])('when the endpoint %s', async (_what, error, behaviour) => {
    const receiver = await aBrokenReceiver(behaviour);
    expectOneFailure(await attempted(suite, `http://127.0.0.1:${receiver.port}/hook`), error);
    expect(receiver.requests).toHaveLength(1);
    await eventually(() => {
      expect(receiver.open()).toBe(0);
    });
  });

  it.concurrent('when the endpoint closes the connection as soon as it is made', async () => {
    const receiver = await aBrokenReceiver(() => undefined, { onConnection: (socket) => socket.destroy() });
    expectOneFailure(await attempted(suite, `http://127.0.0.1:${receiver.port}/hook`), /^connect: /);
    expect(receiver.connections()).toBe(1);
  });

  it.concurrent('when the endpoint drips the head a byte a second, within the time of one attempt', async () => {
    const receiver = await aBrokenReceiver((socket) => {
      const head = Array.from('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      const timer = setInterval(() => socket.write(head.shift() ?? ''), 1_000);
      socket.write(head.shift() ?? '');
      socket.on('close', () => {
        clearInterval(timer);
      });
    });
    const delivery = await attempted(suite, `http://127.0.0.1:${receiver.port}/hook`);
    expectOneFailure(delivery, /^timeout: /);
    // The head would take 38 s.
    expect(delivery.attempts_log[0]!.duration_ms).toBeLessThan(30_000);
  });

  it.concurrent('when the answer comes too late, even if it is a 2xx (contract 9)', async () => {
    const answerAfter = (ms: number) =>
      aBrokenReceiver((socket) => {
        setTimeout(() => socket.end('HTTP/1.1 200 OK\r\n\r\n'), ms);
      });
    const late = await attempted(suite, `http://127.0.0.1:${(await answerAfter(TIMEOUT_MS + 300)).port}/hook`);
    expectOneFailure(late, /^timeout: /);
    expect(late.attempts_log[0]!.duration_ms).toBeGreaterThanOrEqual(TIMEOUT_MS - 5);
    const inTime = await attempted(suite, `http://127.0.0.1:${(await answerAfter(TIMEOUT_MS / 4)).port}/hook`);
    expect(inTime).toMatchObject({ status: 'delivered', attempts: 1, response_status: 200, last_error: null });
    expect(inTime.attempts_log[0]!.duration_ms).toBeGreaterThanOrEqual(TIMEOUT_MS / 4 - 5);
  });

  it.concurrent('when nobody listens there', async () => {
    expectOneFailure(await attempted(suite, `http://127.0.0.1:${await freePort()}/hook`), /^connect: /);
  });

  it.concurrent('when the certificate is not trusted, is for another host, has expired, or there is none', async () => {
    const { selfSigned, valid, wrongHost, expired } = certificates;
    for (const tls of [selfSigned, valid, wrongHost, expired]) {
      const receiver = await aBrokenReceiver((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'), { tls });
      expectOneFailure(await attempted(suite, `https://127.0.0.1:${receiver.port}/hook`), /^tls: /);
      expect(receiver.requests).toEqual([]);
    }
    const plain = await aBrokenReceiver((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'), {
      onConnection: (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    });
    expectOneFailure(await attempted(suite, `https://127.0.0.1:${plain.port}/hook`), /^tls: /);
  });

  it('when the answer is refused and a gigabyte long: it is dropped, and memory stays flat', async () => {
    let taken = () => 0;
    const receiver = await aBrokenReceiver((socket) => {
      taken = sendGigabyte(socket, `HTTP/1.1 500 No\r\ncontent-length: ${GIGABYTE}\r\n\r\n`);
    });
    const before = await memory();
    const delivery = await attempted(suite, `http://127.0.0.1:${receiver.port}/hook`);
    expectOneFailure(delivery, /^http_status: 500$/, 500);
    expect(delivery.attempts_log[0]!.response_excerpt).toBe('x'.repeat(1_024));
    await eventually(() => {
      expect(receiver.open()).toBe(0);
    });
    expect(taken()).toBeLessThan(A_FEW_MEGABYTES);
    expect((await memory()) - before).toBeLessThan(A_FEW_MEGABYTES);
  });

  it('when the answer is refused and a gzip bomb: it is not unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(GIGABYTE / 8, 'x'));
    const receiver = await aBrokenReceiver((socket) => {
      socket.write(`HTTP/1.1 503 No\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`);
      socket.write(bomb);
    });
    const before = await memory();
    const delivery = await attempted(suite, `http://127.0.0.1:${receiver.port}/hook`);
    expectOneFailure(delivery, /^http_status: 503$/, 503);
    const excerpt = delivery.attempts_log[0]!.response_excerpt!;
    expect(Buffer.byteLength(excerpt)).toBeLessThanOrEqual(1_024);
    // What was unpacked and let go of shows in no memory.
    expect(excerpt).not.toContain('x'.repeat(100));
    expect((await memory()) - before).toBeLessThan(A_FEW_MEGABYTES);
  });

  it('and what follows a 2xx does not undo it: a gigabyte, a drip, a reset', async () => {
    const head = `HTTP/1.1 200 OK\r\ncontent-length: ${GIGABYTE}\r\n\r\n`;
    const behaviours: readonly Behaviour[] = [
      (socket) => void sendGigabyte(socket, head),
      (socket) => socket.write(`${head}x`),
      (socket) => socket.write(head, () => socket.resetAndDestroy()),
    ];
    for (const behaviour of behaviours) {
      const receiver = await aBrokenReceiver(behaviour);
      const delivery = await attempted(suite, `http://127.0.0.1:${receiver.port}/hook`);
      expect(delivery).toMatchObject({ status: 'delivered', attempts: 1, response_status: 200, last_error: null });
      await eventually(() => {
        expect(receiver.open()).toBe(0);
      });
    }
  });
});

describe('an attempt at a name', () => {
  let dns: TestDnsServer;
  let suite: DeliverySuite;
  let receiver: TestReceiver;

  beforeAll(async () => {
    dns = await startDnsServer();
    // As in production: nothing private is allowed.
    suite = await DeliverySuite.start({
      RETRY_SCHEDULE,
      DELIVERY_TIMEOUT: `${TIMEOUT_MS}ms`,
      DNS_SERVERS: dns.address,
      ALLOWED_PRIVATE_NETWORKS: '',
    });
    suite.closing(dns);
    receiver = suite.closing(await startReceiver((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n')));
  });

  afterAll(() => suite.stop());

  /** What becomes of a delivery to a name that has changed its addresses since it was registered. */
  async function attemptedAfter(name: string, addresses: readonly string[]): Promise<WholeDelivery> {
    let isRegistered = false;
    dns.set(name, () => (isRegistered ? addresses : ['93.184.216.34']));
    const operator = await suite.anOperator();
    const url = `http://${name}:${receiver.port}/hook`;
    const endpoint = await operator.register({ url, events: ['ticket.created'] });
    isRegistered = true;
    const { id } = await operator.test(endpoint.id);
    return eventually(async () => {
      const delivery = await operator.delivery(endpoint.id, id);
      expect(delivery).toMatchObject({ status: 'pending', attempts: 1, response_status: null });
      return delivery;
    });
  }

  it.concurrent.each([
    ['to loopback', ['127.0.0.1']],
    ['to IPv6 loopback', ['::1']],
    ['to loopback in an IPv6 disguise', ['::ffff:127.0.0.1']],
    ['to a private address beside a public one', ['93.184.216.34', '10.0.0.1']],
  ])('that is bound again %s is blocked, and the receiver there gets no byte (contract 6.5)', async (what, to) => {
    const name = `${what.replaceAll(' ', '-').toLowerCase()}.example.com`;
    const { last_error, attempts_log } = await attemptedAfter(name, to);
    expect(last_error).toMatch(/^blocked_address: /);
    expect(attempts_log).toMatchObject([{ attempt: 1, error: last_error, response_status: null }]);
    expect(receiver.connections()).toBe(0);
  });

  it.concurrent('that resolves to nothing any more fails as dns', async () => {
    const { last_error, attempts_log } = await attemptedAfter('gone.example.com', []);
    expect(last_error).toMatch(/^dns: /);
    expect(attempts_log).toMatchObject([{ attempt: 1, error: last_error }]);
  });

  it.concurrent('is not registered when it is private from the start', async () => {
    const operator = await suite.anOperator();
    dns.set('private.example.com', ['127.0.0.1']);
    const body = { url: `https://private.example.com:${receiver.port}/hook`, events: ['ticket.created'] };
    const refusal = await operator.refusal('POST', '/external/webhooks', body);
    expect(refusal).toMatchObject({ status: 422, code: 'url_unresolvable', errors: [{ pointer: '#/url' }] });
  });
});
